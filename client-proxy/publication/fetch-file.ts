/** Small files of a site, from its content hosts and its key server: bounded in size and time, nothing of them believed. */
import type { Dispatcher } from 'undici';
import { concatAll } from '../../core/encoding/bytes.ts';
import { ReadingError } from '../../core/reading/errors.ts';
import type { BodyQueue } from '../content/body-queue.ts';
import { fetchBody } from '../content/fetch-body.ts';
import type { Upstream } from '../content/upstream.ts';
import { exchange } from '../keys/exchange.ts';

/**
 * Fetches a file from a content host.
 *
 * @returns `undefined` where the host says that it has none; no more than one byte more than `maximumLength`
 * @throws ReadingError
 */
export async function fetchFile(
  upstream: Upstream,
  origin: string,
  path: string,
  maximumLength: number,
  milliseconds: number,
): Promise<Uint8Array | undefined> {
  const ending = new AbortController();
  const tooSlow = () => ending.abort(new ReadingError('content-host-unreachable', `${origin} took too long`));
  const timer = setTimeout(tooSlow, milliseconds);
  try {
    const { status, body } = await fetchBody(upstream, origin, { path }, ending.signal);
    if (status === 200) return await readUpTo(body, maximumLength + 1);
    body.destroy(new Error('not wanted'));
    if (status === 404 || status === 410) return undefined;
    throw new ReadingError('content-host-answer', `${origin} answered ${status} when asked for ${path}`);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Fetches a file from a key server.
 *
 * @returns `undefined` where the key server says that it has none
 * @throws ReaderError of exchange.ts
 */
export async function fetchFromKeyServer(
  dispatcher: Dispatcher,
  keyServer: string,
  path: string,
  maximumLength: number,
  milliseconds: number,
): Promise<Uint8Array | undefined> {
  const answer = await exchange(dispatcher, keyServer, path, { maximumLength, timeout: milliseconds });
  return answer.status === 200 ? answer.body : undefined;
}

/** The rest of what is too long is not taken. */
async function readUpTo(body: BodyQueue, length: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for await (const part of body) {
    parts.push(part);
    total += part.length;
    if (total >= length) break;
  }
  body.destroy(new Error('more than was wanted'));
  return concatAll(parts).subarray(0, length);
}
