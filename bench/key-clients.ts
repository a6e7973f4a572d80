/** Clients that ask a key server for keys: as many at a time as they may, at a rate, or with a TLS connection for each request. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { Pool } from 'undici';
import { fromBase64url } from '../core/encoding/base64url.ts';
import { encodeKeyRequest, KEY_REQUEST_PATH } from '../core/keys/key-request.ts';
import { nowInSeconds } from '../node-support/clock.ts';
import type { Asked } from './key-server.ts';

export const AT_A_TIME = 16;
/** More than ever wait at half of what a server can do. */
const CONNECTIONS_AT_A_RATE = 256;
const TLS_AT_A_TIME = 8;

/** Made before the clock runs: a reader's own work is no part of this. */
export function requestsFor(
  { origin, set, devices }: Pick<Asked, 'devices' | 'origin' | 'set'>,
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

/** @returns the lengths of the answers */
export async function send(origin: string, requests: readonly Uint8Array[], atATime = AT_A_TIME): Promise<number[]> {
  const pool = new Pool(origin, { connections: atATime });
  const lengths: number[] = [];
  let next = 0;
  const sendOn = async () => {
    for (let body = requests[next++]; body; body = requests[next++]) {
      const answer = await pool.request({ path: KEY_REQUEST_PATH, method: 'POST', body });
      lengths.push((await answer.body.bytes()).length);
      if (answer.statusCode !== 200) throw new Error(`${origin} answered ${answer.statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: atATime }, sendOn));
  await pool.close();
  return lengths;
}

/**
 * Sends requests at even distances, whether earlier ones are answered or not.
 *
 * @param rate - a second
 * @returns milliseconds from when each was due to the end of its answer
 */
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

/** Sends each request on a TLS connection of its own, by X25519. @param resumes - whether all but the first go on with its session */
export async function sendByTls(
  { port, ca }: { readonly port: number; readonly ca: Buffer },
  requests: readonly Uint8Array[],
  resumes: boolean,
): Promise<void> {
  let session: Buffer | undefined;
  let next = 0;
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
    for (let body = requests[next++]; body; body = requests[next++]) await sendOne(body);
  };
  const [first = new Uint8Array(0)] = requests;
  next++;
  await sendOne(first);
  await Promise.all(Array.from({ length: TLS_AT_A_TIME }, sendOn));
}
