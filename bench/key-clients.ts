/** A key server in a process of its own, and clients that ask it: as many at a time as they may, at a rate, or with a TLS connection for each request. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { fromBase64url } from '../core/encoding/base64url.ts';
import { encodeKeyRequest, KEY_REQUEST_PATH, openKeyAnswer } from '../core/keys/key-request.ts';
import { nowInSeconds } from '../node-support/clock.ts';
import { sendPatiently } from '../reading/pause.ts';
import type { BrowserServer } from './browser-server.ts';
import type { MeasuredServer } from './key-server.ts';
import { type Started, startProgram } from './processes.ts';

const SERVER = fileURLToPath(new URL('key-server.ts', import.meta.url));
/** Count per run. */
export const REQUESTS = 2000;
export const AT_A_TIME = 16;
/** Connections, more than ever wait at half of what a server can do. */
const CONNECTIONS_AT_A_RATE = 256;
const TLS_AT_A_TIME = 8;

/** Starts `bench/key-server.ts` with these arguments. */
export function startServer(args: readonly string[]): Promise<Started<MeasuredServer>> {
  return startProgram(SERVER, args);
}

/** Makes requests before the clock runs: a reader's own work is no part of this. */
export function requestsFor(
  { origin, set, devices }: Pick<MeasuredServer, 'devices' | 'origin' | 'set'>,
  count: number,
): Promise<Uint8Array[]> {
  const now = nowInSeconds();
  const made = Array.from({ length: count }, (_, index) => {
    const device = devices[index % devices.length];
    const key = fromBase64url(device?.key ?? '', 32) ?? new Uint8Array(0);
    return encodeKeyRequest({ id: device?.id ?? '', key }, origin, [set], now);
  });
  return Promise.all(made);
}

/** Requests a second. @param devices - that ask */
export async function rateOf(
  { origin }: Pick<MeasuredServer, 'origin'>,
  devices: Pick<MeasuredServer, 'devices' | 'origin' | 'set'>,
  count = REQUESTS,
): Promise<number> {
  const requests = await requestsFor(devices, count);
  return rateOfSending(count, () => send(origin, requests));
}

/** @param sending - of all requests: returns the lengths of the answers */
export async function rateOfSending(count: number, sending: () => Promise<number[]>): Promise<number> {
  const start = performance.now();
  const lengths = await sending();
  const seconds = (performance.now() - start) / 1000;
  if (lengths.length !== count || new Set(lengths).size !== 1) throw new Error('not all requests got the same answer');
  return count / seconds;
}

/** @returns the lengths of the answers */
export function send(origin: string, requests: readonly Uint8Array[], atATime = AT_A_TIME): Promise<number[]> {
  const messages = requests.map((body) => ({ path: KEY_REQUEST_PATH, body }));
  return post(origin, messages, 200, atATime);
}

export interface Message {
  readonly path: string;
  readonly body: Uint8Array | string;
  readonly headers?: Record<string, string>;
}

/** @returns the lengths of the answers. @throws Error where one has another status */
async function post(origin: string, messages: readonly Message[], status: number, atATime: number): Promise<number[]> {
  const pool = new Pool(origin, { connections: atATime });
  const lengths: number[] = [];
  const waiting = messages.values();
  const postOn = async () => {
    for (const message of waiting) {
      const answer = await pool.request({ ...message, method: 'POST' });
      lengths.push((await answer.body.bytes()).length);
      if (answer.statusCode !== status) throw new Error(`${origin} answered ${answer.statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: atATime }, postOn));
  await pool.close();
  return lengths;
}

/** A sign-in, as the form of the key server's page sends it. @param origin - of that page */
export function signInMessage(origin: string, person: { readonly name: string; readonly password: string }): Message {
  const headers = { origin, 'content-type': 'application/x-www-form-urlencoded' };
  return { path: '/-/sign-in', body: new URLSearchParams(person).toString(), headers };
}

/** Sends at even distances, answered or not. @param rate - a second @returns milliseconds from due to answered */
export async function latenciesAt(rate: number, origin: string, requests: readonly Uint8Array[]): Promise<number[]> {
  const pool = new Pool(origin, { connections: CONNECTIONS_AT_A_RATE });
  const start = performance.now();
  const latencies = requests.map(async (body, index) => {
    const due = start + (index * 1000) / rate;
    await wait(Math.max(0, due - performance.now()));
    const answer = await pool.request({ path: KEY_REQUEST_PATH, method: 'POST', body });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`${origin} answered ${answer.statusCode}`);
    return performance.now() - due;
  });
  const found = await Promise.all(latencies);
  await pool.close();
  return found;
}

/** Has each browser ask for its key, at even distances. @returns milliseconds of each; how often one came again */
export async function askAsBrowsers(
  { vault, set, browsers }: BrowserServer,
  ports: readonly number[],
  seconds: number,
): Promise<{ readonly waits: readonly number[]; readonly refused: number }> {
  const pools = ports.map((port) => new Pool(`http://127.0.0.1:${port}`, { connections: CONNECTIONS_AT_A_RATE }));
  const common = { host: new URL(vault).host, origin: vault, 'sec-fetch-site': 'same-origin' };
  let refused = 0;
  const start = performance.now();
  const asking = browsers.map(async ({ id, key, cookie }, index) => {
    const due = start + (index * seconds * 1000) / browsers.length;
    await wait(Math.max(0, due - performance.now()));
    const device = { id, key: fromBase64url(key, 32) ?? new Uint8Array(0) };
    const body = await encodeKeyRequest(device, vault, [set], nowInSeconds());
    const send = async () => {
      const message = { path: '/-/key-requests', method: 'POST', headers: { ...common, cookie }, body } as const;
      const { statusCode: status, headers, body: answer } = (await pools[index % pools.length]?.request(message)) ?? {};
      const bytes = (await answer?.bytes()) ?? new Uint8Array(0);
      if (status === 503) refused++;
      return { status: status ?? 0, retryAfter: headers?.['retry-after'], bytes };
    };
    const { status, bytes } = await sendPatiently(send, (answer) => answer);
    const { keys } = status === 200 ? await openKeyAnswer(bytes, body, device.key) : { keys: [] };
    if (keys.length === 0) throw new Error(`a browser got no key: ${status}`);
    return performance.now() - due;
  });
  const waits = await Promise.all(asking);
  await Promise.all(pools.map((pool) => pool.close()));
  return { waits, refused };
}

/** Sends each request on a TLS connection of its own, by X25519. @param resumes - whether all but the first go on with its session */
export async function sendByTls(
  { port, ca }: { readonly port: number; readonly ca: Buffer },
  requests: readonly Uint8Array[],
  resumes: boolean,
): Promise<void> {
  let session: Buffer | undefined;
  const sendOne = async (body: Uint8Array) => {
    const outgoing = request({
      ...{ host: '127.0.0.1', port, servername: 'localhost', ca, ecdhCurve: 'X25519', minVersion: 'TLSv1.3' },
      ...{ method: 'POST', path: KEY_REQUEST_PATH, agent: false, ...(session && { session }) },
      headers: { host: 'localhost', 'content-length': body.length },
    });
    const expected = session !== undefined;
    outgoing.once('socket', (socket: TLSSocket) =>
      socket.on('session', (given) => {
        if (resumes) session ??= given;
      }),
    );
    const [answer] = (await once(outgoing.end(body), 'response')) as [IncomingMessage];
    const isReused = (answer.socket as TLSSocket).isSessionReused();
    await once(answer.resume(), 'end');
    if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
    if (isReused !== expected) throw new Error(`resumed: ${isReused}`);
  };
  const sendOn = async () => {
    for (const body of waiting) await sendOne(body);
  };
  const [first = new Uint8Array(0), ...others] = requests;
  const waiting = others.values();
  await sendOne(first);
  await Promise.all(Array.from({ length: TLS_AT_A_TIME }, sendOn));
}
