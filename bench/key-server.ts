/**
 * Server to measure in a process of its own: a key server with devices that may have a key, or bare Express with an answer of that length. It prints
 * where it is, and the devices, as a line of JSON; it ends with its standard input.
 *
 *   node key-server.ts sqlite|DATABASE FOLDER [HTTPCRYPT_PORT]     with TLS if FOLDER has cert.pem and key.pem
 *   node key-server.ts express LENGTH [FOLDER]                     the same
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer as createPlainServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import express from 'express';
import { pino } from 'pino';
import { keyIdOf } from '../core/crypto/key-id.ts';
import { toBase64url } from '../core/encoding/base64url.ts';
import type { HttpcryptEndpoint } from '../core/httpcrypt/endpoint.ts';
import { KEY_REQUEST_PATH } from '../core/keys/key-request.ts';
import type { KeyServerConfig } from '../keyserver/config/config.ts';
import type { ListenAddress } from '../keyserver/config/schema.ts';
import { logOutput } from '../keyserver/operations/log-output.ts';
import { setRow } from '../keyserver/publication/import-bundle.ts';
import { deviceRow } from '../keyserver/readers/devices.ts';
import { inviteSubscriber } from '../keyserver/readers/invitations.ts';
import { startKeyServer } from '../keyserver/server.ts';
import type { KeyServerState } from '../keyserver/storage/state.ts';
import { findSubscriber } from '../keyserver/subscriptions/subscribers.ts';

const DEVICES = 50;

export interface MeasuredServer {
  readonly pid: number;
  readonly origin: string;
  readonly port: number;
  readonly set: string;
  readonly httpcrypt?: HttpcryptEndpoint | undefined;
  readonly devices: readonly { readonly id: string; readonly key: string }[];
}

const [kind = '', about = '', more] = process.argv.slice(2);
const facts = kind === 'express' ? await startExpress(Number(about), more) : await startServer(kind, about, more);
process.stdout.write(`${JSON.stringify(facts)}\n`);
await once(process.stdin.resume(), 'end');
process.exit();

async function startServer(database: string, folder: string, port?: string): Promise<MeasuredServer> {
  const listen = { host: '127.0.0.1', port: 0 };
  const endpoint = port && { url: `http://127.0.0.1:${port}/a/`, listen: { ...listen, port: Number(port) } };
  const config: KeyServerConfig = {
    ...listenersOf(folder, listen),
    ...(database === 'sqlite' ? { data: join(folder, 'keyserver.db') } : { database }),
    masterKey: join(folder, 'master.key'),
    publicKey: join(folder, 'keyserver.pub'),
    ...(endpoint && { httpcrypt: { ...endpoint, rotateMinutes: 60 } }),
  };
  const log = pino({ base: null }, logOutput('/dev/null'));
  const { state, url, ports, httpcrypt } = await startKeyServer(config, {
    log,
    limits: { requestsPerAddress: 1e9, keyRequestsPerAddress: 1e9 },
  });
  await inviteSubscriber(state, { name: 'reader' });
  const key = randomBytes(32);
  const set = await keyIdOf('set', key);
  const sql = 'INSERT INTO sets (id, name, site, sealed, imported) VALUES (?, ?, ?, ?, ?)';
  await state.database.run(sql, set, 'day-1', 'bench.example', await state.vault.seal(setRow(set), key), state.now());
  const devices = await Promise.all(Array.from({ length: DEVICES }, () => addDevice(state)));
  return { pid: process.pid, origin: url, port: ports.keyServer, set, httpcrypt, devices };
}

function listenersOf(
  folder: string,
  listen: ListenAddress,
): Pick<KeyServerConfig, 'dev' | 'origin' | 'listen' | 'tls' | 'reading'> {
  const tls = { certificate: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  const inBrowser = false;
  if (!existsSync(tls.key)) return { dev: true, listen, reading: { listen, documents: { listen, inBrowser } } };
  const endpoint = { origin: 'https://localhost', listen, tls };
  return { ...endpoint, reading: { ...endpoint, documents: { ...endpoint, inBrowser } } };
}

async function addDevice({ database, vault, now }: KeyServerState) {
  const key = randomBytes(32);
  const [id, keysDigest] = [await keyIdOf('device', key), toBase64url(randomBytes(32))];
  const sql =
    "INSERT INTO devices (kind, subscriber, keys_digest, key_id, sealed, created, last_seen) VALUES ('reader', ?, ?, ?, ?, ?, ?)";
  const subscriber = (await findSubscriber(database, 'reader'))?.id ?? 0;
  await database.run(sql, subscriber, keysDigest, id, await vault.seal(deviceRow(keysDigest, id), key), now(), now());
  return { id, key: toBase64url(key) };
}

async function startExpress(length: number, folder?: string): Promise<MeasuredServer> {
  const answer = randomBytes(length);
  const app = express();
  app.post(KEY_REQUEST_PATH, express.raw({ type: () => true }), (_request, response) => {
    response.setHeader('Content-Type', 'application/octet-stream');
    response.end(answer);
  });
  const read = (name: string) => readFileSync(join(folder ?? '', name));
  const server = folder ? createServer({ cert: read('cert.pem'), key: read('key.pem') }, app) : createPlainServer(app);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = folder ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
  return { pid: process.pid, origin, port, set: '', devices: [] };
}
