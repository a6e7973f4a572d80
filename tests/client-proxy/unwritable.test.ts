/** A database that is there, and takes no change: that is said, and not that it is lost. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LIMITS } from '../../client-proxy/limits.ts';
import { problemText } from '../../client-proxy/pages/connect.ts';
import { unlockProblemText } from '../../client-proxy/pages/lock.ts';
import { openDatabase, unwritable } from '../../client-proxy/store/database.ts';
import { DATABASE_FILES } from '../../client-proxy/store/locations.ts';
import { type FullDisk, fillDisk } from '../support/full-disk.ts';
import type { HostileKeyServer } from '../support/hostile-key-server.ts';
import { type Received, send } from '../support/http-client.ts';
import { type ReaderRig, startHostileReaderRig } from '../support/reader-rig.ts';
import { runWispr } from '../support/wispr.ts';

const LOST = /removed or replaced|Stop the Reader, and start it again|unlock/;

const before = { ...LIMITS };
let rig: ReaderRig<HostileKeyServer>;
let session: string;
let other: DatabaseSync | undefined;
let disk: FullDisk | undefined;
beforeEach(async () => {
  session = mkdtempSync(join(tmpdir(), 'wispr-session-'));
  vi.stubEnv('XDG_RUNTIME_DIR', session);
  Object.assign(LIMITS, { databaseWait: 50 });
  rig = await startHostileReaderRig();
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'signed' });
});
afterEach(async () => {
  other?.close();
  disk?.makeRoom();
  [other, disk] = [undefined, undefined];
  Object.assign(LIMITS, before);
  vi.unstubAllEnvs();
  await rig.close();
  rmSync(session, { recursive: true, force: true });
});

const file = () => join(rig.storage.dataDirectory, DATABASE_FILES[0]);
const read = async () => (await send(rig.proxy.port, rig.url('/a.html'))).text;
const errorOf = (errcode: number, message: string) => () =>
  Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode });

function occupy(path = file()): DatabaseSync {
  other = new DatabaseSync(path);
  other.exec('BEGIN EXCLUSIVE');
  return other;
}

async function own(path = '/', form?: Record<string, string>): Promise<Received> {
  const origin = rig.proxy.page.slice(0, -1);
  const headers = { host: new URL(origin).host, origin, 'content-type': 'application/x-www-form-urlencoded' };
  if (form === undefined) return send(rig.proxy.port, path, { headers: { host: headers.host } });
  return send(rig.proxy.port, path, { method: 'POST', headers, body: new URLSearchParams(form).toString() });
}

async function save(): Promise<Received> {
  const token = /name="token" value="([^"]+)"/.exec((await own('/settings')).text)?.[1] ?? '';
  return own('/settings', { token, parentProxy: '', notices: 'on' });
}

it('because another program is writing to it: settings are not saved, that is said, and it is read on', async () => {
  expect(await read()).toBe('signed');
  const writing = occupy();
  const { status, text } = await save();
  expect(status).toBe(503);
  expect(text).toContain('The database of the Reader is busy</h1>');
  expect(text).toContain('<code>store-busy</code>');
  expect(text).toContain('Try again in a moment.');
  expect(text).not.toMatch(LOST);
  expect(await read()).toBe('signed');
  writing.exec('ROLLBACK');
  expect((await save()).status).toBe(303);
});

it('because its disk cannot be written: settings are not saved, that is said, and it is read on', async () => {
  expect(await read()).toBe('signed');
  disk = fillDisk(rig.storage.dataDirectory, errorOf(8, 'attempt to write a readonly database'));
  const { status, text } = await save();
  expect(status).toBe(503);
  expect(text).toContain('The Reader cannot write to its database</h1>');
  expect(text).toContain('<code>store-unwritable</code>');
  expect(text).toContain('attempt to write a readonly database');
  expect(text).toContain('Do not stop the Reader before');
  expect(text).not.toMatch(LOST);
  expect(await read()).toBe('signed');
  disk.makeRoom();
  expect((await save()).status).toBe(303);
});

it('for a while: the first page and the status say what helps, and that the Reader is not to be stopped', async () => {
  disk = fillDisk(rig.storage.dataDirectory, errorOf(8, 'attempt to write a readonly database'));
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'newer' });
  expect(await read()).toBe('newer');
  const { text } = await own();
  expect(text).toContain('The Reader cannot write what it keeps');
  expect(text).toContain('Check what keeps its database from being written. The Reader need not be restarted');
  const { stdout, stderr } = await runWispr(['proxy', 'status', '--data', rig.storage.dataDirectory]);
  expect(stdout).toMatch(/^not kept: .* \[store-unwritable\]; /m);
  expect(stderr).toBe(
    'wispr: hint: see what keeps the database from being written, and do not stop the Reader before\n',
  );
});

describe('what helps', () => {
  it.each(['disk-full', 'store-busy', 'store-unwritable'])('where %s kept something from being done', (code) => {
    for (const { text, hint } of [problemText(code), unlockProblemText(code)]) {
      expect(text).toMatch(/, so (?:the connection could not be kept|the Reader is still locked)\.$/);
      expect(hint).toMatch(/[Tt]ry again/);
      expect(hint).not.toContain('Stop the Reader');
    }
  });

  it('where it cannot even be opened, because another program has it to itself', () => {
    const directory = join(rig.directory, 'another');
    openDatabase(directory).database.close();
    const path = join(directory, DATABASE_FILES[0]);
    other = new DatabaseSync(path);
    other.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    const refused = {
      code: 'store-busy',
      message: expect.stringContaining(path),
      hint: expect.stringMatching(/^try again/),
    };
    expect(() => openDatabase(directory)).toThrow(expect.objectContaining(refused));
  });

  it('where it shows while it is written that it is damaged', () => {
    const error = unwritable(errorOf(11, 'database disk image is malformed')(), file());
    expect([error.code, error.hint]).toEqual(['store-damaged', expect.stringContaining('restore it from a backup')]);
  });
});
