/** A Reader that runs, and whose database was erased or replaced: no unlocking helps until it is back, and everything that is asked says what does. */
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { askStatus } from '../../../client-proxy/index.ts';
import { LIMITS } from '../../../client-proxy/limits.ts';
import { DATABASE_FILES } from '../../../client-proxy/store/locations.ts';
import { refusalCode, send } from '../../support/http-client.ts';
import { type ReaderRig, startReaderRig } from '../../support/reader-rig.ts';
import { runWispr } from '../../support/wispr.ts';

const RESTART = 'Stop the Reader, and start it again.';
const HINT = 'wispr: hint: if its files were only moved, move them back; else stop it, and start it again\n';

const before = { ...LIMITS };
let rig: ReaderRig;
let session: string;
beforeEach(async () => {
  session = mkdtempSync(join(tmpdir(), 'wispr-session-'));
  vi.stubEnv('XDG_RUNTIME_DIR', session);
  Object.assign(LIMITS, { databaseCheck: 0 }); // every request looks
  rig = await startReaderRig();
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'for subscribers' });
});
afterEach(async () => {
  Object.assign(LIMITS, before);
  vi.unstubAllEnvs();
  await rig.close();
  rmSync(session, { recursive: true, force: true });
});

const path = (name: string) => join(rig.storage.dataDirectory, name);
const wispr = (...args: string[]) =>
  runWispr([...args, '--data', rig.storage.dataDirectory, '--key-file', rig.storage.keyFile]);
const ask = (target: string, form?: Record<string, string>) => {
  const origin = rig.proxy.page.slice(0, -1);
  const headers = { host: new URL(origin).host, origin, 'content-type': 'application/x-www-form-urlencoded' };
  if (form === undefined) return send(rig.proxy.port, target, { headers: { host: headers.host } });
  return send(rig.proxy.port, target, { method: 'POST', headers, body: new URLSearchParams(form).toString() });
};

function erase(): void {
  for (const name of DATABASE_FILES) rmSync(path(name), { force: true }); // one that was closed has the first alone
}

function replace(): void {
  for (const name of DATABASE_FILES) {
    copyFileSync(path(name), path('copy'));
    renameSync(path('copy'), path(name));
  }
}

const HARMS = [
  ['erased', erase],
  ['replaced', replace],
] as const;

it.each(HARMS)('%s: its pages say so and what helps, and ask for no unlocking', async (_, harm) => {
  harm();
  const document = await send(rig.proxy.port, rig.url('/a.html'));
  expect([document.status, refusalCode(document)]).toEqual([503, 'store-unusable']);
  const own = await ask('/');
  for (const { status, text } of [document, own]) {
    expect(status).toBe(503);
    expect(text).toContain('The Reader cannot use its database</h1>');
    expect(text).toContain('the database that this program opened was removed or replaced');
    expect(text).toContain(RESTART);
    expect(text).not.toMatch(/The Reader is locked|identity unlock|action="\/unlock"/);
  }
  expect(own.text).toContain('aria-current="page"'); // the way to its settings is still there
});

it.each(HARMS)('%s while it is locked: so does what the button "Unlock" of an older page leads to', async (_, harm) => {
  await rig.proxy.lock.lock();
  const locked = (await ask('/')).text;
  expect(locked).toContain('The Reader is locked</h1>');
  expect(refusalCode(await send(rig.proxy.port, rig.url('/a.html')))).toBe('reader-locked');
  const token = /name="token" value="([^"]+)"/.exec(locked)?.[1] ?? '';
  harm();
  const { status, text } = await ask('/unlock', { token });
  expect([status, text.includes(RESTART), text.includes('action="/unlock"')]).toEqual([503, true, false]);
  expect(rig.proxy.lock.isLocked).toBe(true);
});

it.each(HARMS)('%s: the status of it says so, and what helps', async (_, harm) => {
  harm();
  const { readers } = await askStatus(rig.storage.dataDirectory);
  expect(readers).toMatchObject([{ locked: true, unusable: { code: 'store-unusable', hint: expect.any(String) } }]);
  const { code, stdout, stderr } = await wispr('proxy', 'status');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^unusable: .* \[store-unusable\]; /m)]);
  expect(stdout).not.toMatch(/^locked: /m);
  expect(stderr).toBe(HINT);
});

it.each(HARMS)('%s: "wispr identity unlock" says it of the Reader that runs', async (_, harm) => {
  harm();
  const { code, stderr } = await wispr('identity', 'unlock');
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^wispr: a Reader refused: .* \[store-unusable\]\n/)]);
  expect(stderr).toContain(HINT);
});

it('moved away and back: it is locked, and the button "Unlock" brings everything back', async () => {
  for (const name of DATABASE_FILES) renameSync(path(name), join(rig.directory, name));
  const { text } = await send(rig.proxy.port, rig.url('/a.html'));
  expect(text).toContain('move them back, and unlock the Reader');
  expect((await wispr('proxy', 'status')).stdout).toContain('until that is back and unlocked, or it is started again');
  for (const name of DATABASE_FILES) renameSync(join(rig.directory, name), path(name));
  expect(refusalCode(await send(rig.proxy.port, rig.url('/a.html')))).toBe('reader-locked');
  const token = /name="token" value="([^"]+)"/.exec((await ask('/')).text)?.[1] ?? '';
  expect((await ask('/unlock', { token })).status).toBe(303);
  expect((await send(rig.proxy.port, rig.url('/a.html'))).text).toBe('for subscribers');
});

it('erased, and no Reader runs: there is nothing to unlock', async () => {
  await rig.proxy.close();
  erase();
  const { code, stderr } = await wispr('identity', 'unlock');
  expect([code, stderr]).toEqual([2, expect.stringContaining('[no-identity]')]);
});
