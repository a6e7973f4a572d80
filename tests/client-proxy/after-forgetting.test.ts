/** A Reader that runs while everything is forgotten, or while a command connects: status, pages and commands say the same. */
import { expect, it } from 'vitest';
import { forgetEverything, lockReader, protectIdentity, unlockReader } from '../../client-proxy/index.ts';
import { forEachTest } from '../support/for-file.ts';
import { send } from '../support/http-client.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';
import { runWispr } from '../support/wispr.ts';

const rig = forEachTest(startHostileReaderRig);

const host = () => `localhost:${rig.proxy.port}`;
const show = async (path: string) => (await send(rig.proxy.port, path, { headers: { host: host() } })).text;
const status = async () => {
  const { locked, sites } = await rig.proxy.status();
  return { locked, sites: sites.length };
};

async function post(path: string, fields: Record<string, string>) {
  const token = /name="token" value="([^"]+)"/.exec(await show('/'))?.[1] ?? '';
  const type = 'application/x-www-form-urlencoded';
  const headers = { host: host(), origin: `http://${host()}`, 'content-type': type };
  return send(rig.proxy.port, path, { method: 'POST', headers, body: `${new URLSearchParams({ token, ...fields })}` });
}

const keysNow = async () => (await rig.proxy.status()).keysIn;
const wispr = (...args: string[]) => {
  const { dataDirectory, keyFile } = rig.storage;
  return runWispr([...args, '--data', dataDirectory, '--key-file', keyFile]);
};

it('a database that a passphrase protected is not made anew without one: the page asks for it', async () => {
  await protectIdentity(rig.storage, { kind: 'passphrase', choose: async () => 'the one of before' });
  await forgetEverything(rig.storage);
  const page = await show('/');
  expect(page).toContain('No site is connected yet');
  expect(page).toContain('New passphrase');
  expect([await status(), await keysNow()]).toEqual([{ locked: false, sites: 0 }, undefined]);
  const unlocking = unlockReader(rig.storage, async () => expect.unreachable());
  await expect(unlocking).rejects.toMatchObject({ code: 'passphrase-needed' });
  const short = await post('/unlock', { passphrase: 'short' });
  expect([short.status, short.text]).toEqual([422, expect.stringContaining('fewer than 8')]);
  expect(await keysNow()).toBeUndefined();
  expect((await post('/unlock', { passphrase: 'the one from now on' })).status).toBe(303);
  expect(await show('/')).toContain('Link or code of your invitation');
  expect(await keysNow()).toBe('passphrase');
});

it('wispr bind is carried out by the Reader that runs, and says with what keys are sealed when the first publisher comes', async () => {
  const { host: content, publisher, keyServer } = rig;
  const local = ['--connect-to', `:80:127.0.0.1:${content.port}`, '--allow-local', '127.0.0.1'];
  const bind = async (link?: string) =>
    wispr('bind', link ?? (await keyServer.invite()), '--yes', '--trust-site', publisher.site, ...local);
  const running = await bind();
  expect([running.code, running.stderr]).toEqual([0, expect.not.stringMatching(/locked|has to run|sealed/)]);
  await forgetEverything(rig.storage);
  expect((await bind(`${keyServer.origin}#ABCD-EFGH-JKMN-PQRS`)).code).toBe(1);
  const first = await bind();
  expect(first.stderr).toContain('your keys are sealed, with a key in a file');
  expect(first.code).toBe(0);
  expect(await status()).toEqual({ locked: false, sites: 1 });
  await lockReader(rig.storage);
  const locked = await bind();
  expect([locked.code, locked.stderr]).toEqual([1, expect.stringContaining('[reader-locked]')]);
  await rig.proxy.close();
  expect((await bind()).stderr).toContain('"wispr proxy" has to run while you read');
});

it('the first page says that the publisher has disconnected this device, and promises no new keys', async () => {
  const [set, other] = [await createSetKey(), await createSetKey()];
  rig.keyServer.grant(set);
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'text', set });
  await rig.publisher.publish(rig.host.files, '/b.html', { content: 'text', set: other });
  await send(rig.proxy.port, rig.url('/a.html'));
  expect(await show('/')).toContain('New keys are fetched automatically');
  rig.keyServer.refusals.set(other.id, 'revoked');
  await send(rig.proxy.port, rig.url('/b.html'));
  const page = await show('/');
  expect(page).toContain('has disconnected this device');
  expect(page).not.toContain('New keys are fetched automatically');
});
