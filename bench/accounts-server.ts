/**
 * What is measured in the row sign-in, in a process of its own: a key server with a reader who has a password and with open invitations, or an HTTP
 * server that does nothing but the hashing of a sign-in. It prints where it is as a line of JSON; it ends with its standard input.
 *
 *   node accounts-server.ts keyserver FOLDER INVITATIONS
 *   node accounts-server.ts hashing
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { destination, pino } from 'pino';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { toBase64url } from '../core/encoding/base64url.ts';
import { normaliseCode } from '../core/keys/binding.ts';
import { encodeBundle } from '../core/keys/bundle.ts';
import { encodeDescriptor } from '../core/keys/descriptor.ts';
import { keyIdOf } from '../core/keys/key-id.ts';
import { rootIdOf } from '../core/publication/writer.ts';
import { localHashing } from '../keyserver/hashing/hashing.ts';
import { importBundle } from '../keyserver/publication/import-bundle.ts';
import { joinWithPassword } from '../keyserver/readers/accounts.ts';
import { inviteSubscriber } from '../keyserver/readers/invitations.ts';
import { verifyPassword } from '../keyserver/readers/passwords.ts';
import { type RunningKeyServer, startKeyServer } from '../keyserver/server.ts';

export interface Accounts {
  /** Where people sign in, or where there is hashing. */
  readonly reading: string;
  readonly keyServer: string;
  readonly publisher: string;
  readonly reader: { readonly name: string; readonly password: string };
  readonly codes: readonly string[];
  /** Id of a set that all readers may have. */
  readonly set: string;
}

const READER = { name: 'reader', password: 'correct horse battery' };

const [kind = '', folder = '', invitations] = process.argv.slice(2);
const accounts = kind === 'hashing' ? await startHashing() : await startServer(Number(invitations));
process.stdout.write(`${JSON.stringify(accounts)}\n`);
await once(process.stdin.resume(), 'end');
process.exit();

async function startServer(count: number): Promise<Accounts> {
  const listen = { host: '127.0.0.1', port: 0 };
  const config = {
    dev: true,
    listen,
    reading: { listen, documents: { listen, inBrowser: false } },
    data: join(folder, 'keyserver.db'),
    masterKey: join(folder, 'master.key'),
    publicKey: join(folder, 'keyserver.pub'),
  };
  const server = await startKeyServer(config, {
    log: pino({ base: null }, destination('/dev/null')),
    limits: { keyRequestsPerAddress: 1e9 },
  });
  const { publisher, set } = await importPublisher(server);
  const invite = async (name: string) => (await inviteSubscriber(server.state, { name })).code;
  const code = normaliseCode(await invite(READER.name)) ?? '';
  await joinWithPassword(server.state, code, { password: READER.password, address: '127.0.0.1' });
  const codes: string[] = [];
  while (codes.length < count) codes.push(await invite(`subscriber ${codes.length}`));
  return { reading: server.readingUrl, keyServer: server.url, publisher, reader: READER, codes, set };
}

/** @returns the ids of its root and of its set */
async function importPublisher({ state, origins }: RunningKeyServer): Promise<{ publisher: string; set: string }> {
  const publisher = ed25519KeyPair(randomBytes(32));
  const [root, workspace, issued] = [randomBytes(64), toBase64url(randomBytes(16)), state.now()];
  const id = await rootIdOf(root);
  const site = { content: ['https://bench.example'], reading: origins.reading, site: 'bench.example' };
  const about = {
    expires: issued + 86_400,
    issued,
    keyServer: origins.keyServer,
    name: 'bench',
    root: id,
    sites: [site],
  };
  const publisherKey = toBase64url(publisher.publicKey);
  const descriptor = toBase64url(encodeDescriptor({ ...about, publisherKey }, publisher.secretKey));
  const key = randomBytes(32);
  const set = await keyIdOf('set', key);
  const sets = [{ id: set, key: toBase64url(key), name: 'day-1', site: site.site }];
  const bundle = { descriptor, root: toBase64url(root), sets };
  const header = { issued, serial: 1, workspace };
  await importBundle(state, await encodeBundle(bundle, header, state.recipient.publicKey, publisher), origins);
  return { publisher: id, set };
}

/** As many at a time as at the key server, and at the same cost: where there is no account, a sign-in is hashed all the same. */
async function startHashing(): Promise<Accounts> {
  const hashing = localHashing();
  const server = createServer(async (request, response) => {
    await verifyPassword(hashing, undefined, READER.password, '127.0.0.1');
    request.resume();
    response.writeHead(303).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { reading: origin, keyServer: origin, publisher: '', reader: READER, codes: [], set: '' };
}
