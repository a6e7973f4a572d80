/**
 * A key server in a process of its own, behind a proxy that ends TLS, with browsers that are signed in. It prints where its reading site is, and, if it is to
 * make them, the browsers, as a line of JSON; it ends with its standard input.
 *
 *   node browser-server.ts DATABASE FOLDER BROWSERS
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { pino } from 'pino';
import { randomBytes } from '#primitives';
import { keyIdOf } from '../core/crypto/key-id.ts';
import { toBase64url } from '../core/encoding/base64url.ts';
import { logOutput } from '../keyserver/operations/log-output.ts';
import { importBundle } from '../keyserver/publication/import-bundle.ts';
import { deviceRow } from '../keyserver/readers/devices.ts';
import { inviteSubscriber } from '../keyserver/readers/invitations.ts';
import { SESSION_LIFETIME, sessionHashOf } from '../keyserver/readers/session-tokens.ts';
import { startKeyServer } from '../keyserver/server.ts';
import { newSecret } from '../keyserver/storage/digest.ts';
import { findSubscriber } from '../keyserver/subscriptions/subscribers.ts';
import { createPublisher, sealBundle, setOf } from '../tests/support/publisher-with-sets.ts';

const [KEYS, READ, PAGES] = ['https://keys.bench.example', 'https://read.bench.example', 'https://pages.bench.example'];

export interface BrowserServer {
  readonly pid: number;
  readonly port: number;
  /** Origin of the reading site. */
  readonly vault: string;
  readonly set: string;
  readonly browsers: readonly { readonly id: string; readonly key: string; readonly cookie: string }[];
}

const [database = '', folder = '', count = ''] = process.argv.slice(2);
const listen = { host: '127.0.0.1', port: 0 };
const reading = { origin: READ, listen, documents: { origin: PAGES, listen } };
const paths = { masterKey: join(folder, 'master.key'), publicKey: join(folder, `${process.pid}.pub`) };
const server = await startKeyServer(
  { origin: KEYS, listen, reading, trustedProxies: ['127.0.0.1'], database, ...paths },
  {
    log: pino({ base: null }, logOutput('/dev/null')),
    limits: { requestsPerAddress: 1e9, keyRequestsPerAddress: 1e9 },
  },
);
process.stdout.write(`${JSON.stringify(await prepare(Number(count)))}\n`);
await once(process.stdin.resume(), 'end');
process.exit();

/** @param most - browsers to make; 0: another server has made them */
async function prepare(most: number): Promise<BrowserServer> {
  const { state, origins, ports } = server;
  const facts = { pid: process.pid, port: ports.reading, vault: READ };
  if (most === 0) return { ...facts, set: '', browsers: [] };
  const publisher = await createPublisher(['day-1']);
  const content = 'https://content.bench.example';
  const bundle = await sealBundle(publisher, state.recipient.publicKey, { ...origins, content });
  await importBundle(state, bundle, origins);
  await inviteSubscriber(state, { name: 'reader' });
  const subscriber = (await findSubscriber(state.database, 'reader'))?.id ?? 0;
  const browsers = await state.database.transaction(async () => {
    const made = [];
    for (let n = 0; n < most; n++) made.push(await addBrowser(subscriber));
    return made;
  });
  return { ...facts, set: setOf(publisher, 'day-1').id, browsers };
}

async function addBrowser(subscriber: number) {
  const { database, vault, now } = server.state;
  const key = randomBytes(32);
  const [id, keysDigest] = [await keyIdOf('device', key), toBase64url(randomBytes(32))];
  const device = `INSERT INTO devices (kind, subscriber, keys_digest, key_id, sealed, created) VALUES ('browser', ?, ?, ?, ?, ?) RETURNING id`;
  const sealed = await vault.seal(deviceRow(keysDigest, id), key);
  const made = await database.first<{ id: number }>(device, subscriber, keysDigest, id, sealed, now());
  const token = newSecret();
  const session = 'INSERT INTO sessions (token_hash, subscriber, expires, device) VALUES (?, ?, ?, ?)';
  await database.run(session, sessionHashOf(token), subscriber, now() + SESSION_LIFETIME, made?.id ?? null);
  return { id, key: toBase64url(key), cookie: `__Host-wispr=${token}` };
}
