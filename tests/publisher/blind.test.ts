/** A key server that keeps the publication fresh, and has no keys: they are in key files, which only invitations open. */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { openBundle } from '../../core/keys/bundle.ts';
import { createToken } from '../../keyserver/publication/tokens.ts';
import { inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { type RunningKeyServer, startKeyServer } from '../../keyserver/server.ts';
import { openKeyStore } from '../../publisher/keys/key-store.ts';
import { askForKeys, bind } from '../support/device.ts';
import { configIn, temporaryFolder } from '../support/keyserver-rig.ts';
import { buildWebReader } from '../support/web-reader.ts';
import { runWispr } from '../support/wispr.ts';
import { PASSPHRASE } from '../support/workspace.ts';

const ORIGIN = 'https://friends.example';

let directory: string;
let server: RunningKeyServer;
beforeAll(async () => {
  await buildWebReader();
  const config = configIn(temporaryFolder());
  server = await startKeyServer(config, { log: pino({ level: 'silent' }) });
  directory = await mkdtemp(join(tmpdir(), 'wispr-blind-'));
  await writeFile(join(directory, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  await mkdir(join(directory, 'site'));
  await writeFile(join(directory, 'site/index.html'), '<!doctype html><title>Hello</title><p>Hello.');
  await wispr('init', ORIGIN, '--serverless');
  const configuration = join(directory, 'wispr.json');
  const text = await readFile(configuration, 'utf8');
  const named = `"content": "${ORIGIN}",`;
  expect(text).toContain(named);
  const { token } = await createToken(server.state, 'publisher', 1);
  await writeFile(join(directory, 'token'), token, { mode: 0o600 });
  const more = `"keyServer": "${server.url}", "keyServerTokenFile": "token",`;
  await writeFile(configuration, text.replace(named, `${named} ${more}`));
  await cp(config.publicKey, join(directory, 'keyserver.pub'));
  await wispr('invite', 'ada');
  await wispr('publish');
});
afterAll(async () => {
  await server?.close();
  await rm(directory, { recursive: true, force: true });
});

async function wispr(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runWispr([...args, '--passphrase-file', 'passphrase'], { cwd: directory });
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return stdout;
}

const keyFiles = () => readdir(join(directory, 'protected/-/keys'));

it('signs the timestamp of the publication, which readers find where the site lies', async () => {
  const served = await fetch(`${server.url}/.well-known/wispr/timestamp.json`).then((answer) => answer.text());
  expect(await readFile(join(directory, 'protected/.well-known/wispr/timestamp.json'), 'utf8')).toBe(served);
  expect(await keyFiles()).toHaveLength(1);
});

it('attack 72: opens nothing with everything that it has', async () => {
  const bundle = await openBundle(await readFile(join(directory, 'keys.bundle')), server.state.recipient);
  expect([bundle.sets, bundle.timestampKey]).toEqual([[], expect.any(String)]);
  expect(await server.state.database.all('SELECT * FROM sets')).toEqual([]);
});

it('attack 73: has nothing for a device that it enrols itself, and the publisher makes no key file for it', async () => {
  const { contents, rootId } = await openKeyStore(await readFile(join(directory, 'publisher.keys')), PASSPHRASE);
  const [key = new Uint8Array()] = contents.sets.values();
  const { code } = await inviteSubscriber(server.state, { name: 'mallory' });
  const device = await bind({ keyServer: server.url, publisher: rootId }, code);
  const answer = await askForKeys(device, [await keyIdOf('set', key)]);
  expect(answer).toMatchObject({ keys: [], refused: [{ reason: 'not-entitled' }] });
  await wispr('publish');
  expect(await keyFiles()).toHaveLength(1);
});

it('loses the keys that it had when the site gave them out by it', async () => {
  const { database } = server.state;
  await database.run(
    'INSERT INTO sets (id, name, site, sealed, imported) VALUES (?, ?, ?, ?, ?)',
    'A'.repeat(43),
    'subscribers',
    'friends.example',
    new Uint8Array(60),
    1,
  );
  await wispr('publish', '--rekey', 'subscribers');
  expect(await database.all('SELECT id FROM sets')).toEqual([]);
});
