/** Small files of a site, from its content hosts and its key server: bounded in size and time, nothing of them believed. */
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { ReadingError } from '../../reading/errors.ts';
import type { HostedFile } from '../../reading/hosted-source.ts';
import { headerOf } from '../../reading/request-headers.ts';
import { LIMITS } from '../limits.ts';
import type { Upstream } from '../network/upstream.ts';
import { exchange } from './exchange.ts';
import { type BodyResponse, type CachedValidators, fetchBody, PAST_CACHES } from './fetch-body.ts';

export interface FileRequest extends HostedFile {
  readonly origin: string;
}

/** Caches on the way are to ask the host, by conditions, and may keep what they hold: with `no-cache` Squid drops it. */
const REVALIDATED = ['cache-control', 'max-age=0'];

interface CachedFile extends CachedValidators {
  readonly bytes: Uint8Array;
  readonly until: number;
}

/**
 * Fetches a file whose name stays while its content changes. A version that is at hand is asked for by its validators, so that caches and
 * hosts can answer 304. They are forgotten after a while, and never written down: a host could give every reader validators of their own.
 */
export class ChangingFile {
  readonly #held = new Map<string, CachedFile>();

  /** Fetches as {@link fetchFile}. */
  async fetch(upstream: Upstream, wanted: FileRequest): Promise<Uint8Array | undefined> {
    return within(upstream, wanted, async (signal, came) => {
      const { origin, path, newest } = wanted;
      const known = this.#held.get(origin);
      const held = known && known.until > performance.now() ? known : undefined;
      const fields = newest ? REVALIDATED : [];
      const answer = await fetchBody(upstream, origin, { path, held, fields }, signal);
      if (answer.status !== 304) return this.#store(answer, wanted, came);
      await answer.body.return();
      if (held !== undefined && confirms(answer, held)) return held.bytes;
      return this.#store(await fetchBody(upstream, origin, { path, fields: PAST_CACHES }, signal), wanted, came);
    });
  }

  async #store(answer: BodyResponse, wanted: FileRequest, came: Came): Promise<Uint8Array | undefined> {
    this.#held.delete(wanted.origin);
    const bytes = await readAnswer(answer, wanted, came);
    const [etag, lastModified] = [headerOf(answer.headers, 'etag'), headerOf(answer.headers, 'last-modified')];
    const fits = bytes !== undefined && bytes.length <= wanted.maximumLength;
    const until = performance.now() + LIMITS.validatorsFor;
    if (fits && (etag ?? lastModified) !== undefined)
      this.#held.set(wanted.origin, { etag, lastModified, bytes, until });
    return bytes;
  }
}

function confirms({ headers }: BodyResponse, { etag }: CachedValidators): boolean {
  const named = headerOf(headers, 'etag');
  return named === undefined || etag === undefined || weak(named) === weak(etag);
}

function weak(etag: string): string {
  return etag.replace(/^W\//, '');
}

/** @returns `undefined` where a content host has none; `maximumLength` and one byte more at most @throws ReadingError */
export async function fetchFile(upstream: Upstream, wanted: FileRequest): Promise<Uint8Array | undefined> {
  const { origin, path } = wanted;
  return within(upstream, wanted, async (signal, came) =>
    readAnswer(await fetchBody(upstream, origin, { path }, signal), wanted, came),
  );
}

type Came = (bytes: number) => void;

async function within<Result>(
  { line, limits }: Upstream,
  { origin, milliseconds, isPinned, signal }: FileRequest,
  work: (signal: AbortSignal, came: Came) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController();
  const tooSlow = () => ending.abort(new ReadingError('content-host-unreachable', `${origin} took too long`));
  const { came, stop } = line.wait(milliseconds, tooSlow, isPinned ? undefined : limits.slowestUnpinned);
  try {
    return await work(signal ? AbortSignal.any([signal, ending.signal]) : ending.signal, came);
  } finally {
    stop();
  }
}

async function* telling(body: AsyncIterable<Uint8Array>, came: Came): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    came(chunk.length);
    yield chunk;
  }
}

async function readAnswer(
  { status, body }: BodyResponse,
  wanted: FileRequest,
  came: Came,
): Promise<Uint8Array | undefined> {
  const content = new ByteReader(telling(body, came));
  const bytes = status === 200 ? await content.readUpTo(wanted.maximumLength + 1) : undefined;
  body.destroy(new Error('not wanted')); // drops what is left of it
  if (bytes || status === 404 || status === 410) return bytes;
  throw new ReadingError('content-host-answer', `${wanted.origin} answered ${status} when asked for ${wanted.path}`);
}

/** @returns `undefined` where the key server says that it has none @throws ReaderError of exchange.ts */
export async function fetchFromKeyServer(
  { keyServers, line }: Pick<Upstream, 'keyServers' | 'line'>,
  keyServer: string,
  { path, maximumLength, milliseconds }: HostedFile,
): Promise<Uint8Array | undefined> {
  const timeout = line.lengthen(milliseconds);
  const answer = await exchange(keyServers, keyServer, path, { maximumLength, timeout });
  return answer.status === 200 ? answer.body : undefined;
}
