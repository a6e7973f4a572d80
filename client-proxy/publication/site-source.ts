/**
 * Where the files of a site's publication come from: the timestamp from the key server first, everything from the content hosts in the
 * publisher's order. Nothing of it is believed here; it is bounded in size and time.
 */
import type { Dispatcher } from 'undici';
import { concatAll } from '../../core/encoding/bytes.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import type { SiteSource } from '../../core/publication/site-publication.ts';
import { ReadingError } from '../../core/reading/errors.ts';
import type { BodyQueue } from '../content/body-queue.ts';
import { fetchBody } from '../content/fetch-body.ts';
import type { Upstream } from '../content/upstream.ts';
import { exchange } from '../keys/exchange.ts';
import { LIMITS } from '../limits.ts';

export const FIRST_ROOT_FILE = '1.root.json';

/** Where a site is carried, as its descriptor says. */
export interface SiteHosts {
  readonly keyServer: string;
  readonly content: readonly string[];
}

export class ReaderSiteSource implements SiteSource {
  readonly #upstream: Upstream;
  readonly #firstRoot: () => Uint8Array | undefined;
  /** Changes with the descriptor. */
  hosts: SiteHosts;
  /** The content host that is asked first. */
  #first = 0;
  /** When one look for newer files has to be over, all of them together; by `performance.now`. */
  #deadline = Number.POSITIVE_INFINITY;

  /** @param firstRoot - the one that the device was connected with */
  constructor(upstream: Upstream, hosts: SiteHosts, firstRoot: () => Uint8Array | undefined = () => undefined) {
    this.#upstream = upstream;
    this.hosts = hosts;
    this.#firstRoot = firstRoot;
  }

  /** Does `work` with a bound on the time of all its fetches together. */
  async within<Result>(milliseconds: number, work: () => Promise<Result>): Promise<Result> {
    this.#deadline = performance.now() + milliseconds;
    try {
      return await work();
    } finally {
      this.#deadline = Number.POSITIVE_INFINITY;
    }
  }

  /** What came from the first content host was no good: from now on the next one is asked first. `false` if all have had their turn. */
  passOver(turn: number): boolean {
    this.#first++;
    return turn < this.hosts.content.length;
  }

  async metadata(file: string, maximumLength: number): Promise<Uint8Array | undefined> {
    const kept = file === FIRST_ROOT_FILE ? this.#firstRoot() : undefined;
    return kept ?? this.file(METADATA_PATH + file, maximumLength);
  }

  timestamps(maximumLength: number): (() => Promise<Uint8Array | undefined>)[] {
    const path = METADATA_PATH + TIMESTAMP_FILE;
    const { keyServers } = this.#upstream;
    return [
      () =>
        fetchFromKeyServer(
          keyServers,
          this.hosts.keyServer,
          path,
          maximumLength,
          this.#timeLeft(LIMITS.timestampTimeout),
        ),
      ...this.#origins().map((origin) => () => this.#fetch(origin, path, maximumLength, LIMITS.timestampTimeout)),
    ];
  }

  /** A content host that does not have it may only be late: the next one is asked. */
  async file(urlPath: string, maximumLength: number): Promise<Uint8Array | undefined> {
    let failure: unknown;
    let missing = false;
    for (const origin of this.#origins()) {
      try {
        const bytes = await this.#fetch(origin, urlPath, maximumLength, LIMITS.metadataTimeout);
        if (bytes) return bytes;
        missing = true;
      } catch (error) {
        failure ??= error;
      }
    }
    if (failure !== undefined && !missing) throw failure;
    return undefined;
  }

  #origins(): string[] {
    const { content } = this.hosts;
    return content.map((_, index) => content[(index + this.#first) % content.length] ?? '');
  }

  async #fetch(origin: string, path: string, maximum: number, timeout: number): Promise<Uint8Array | undefined> {
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(tooSlow(origin)), this.#timeLeft(timeout));
    try {
      const { status, body } = await fetchBody(this.#upstream, origin, path, ending.signal);
      if (status === 200) return await readUpTo(body, maximum + 1);
      body.destroy(new Error('not wanted'));
      if (status === 404 || status === 410) return undefined;
      throw new ReadingError('content-host-answer', `${origin} answered ${status} when asked for ${path}`);
    } finally {
      clearTimeout(timer);
    }
  }

  #timeLeft(timeout: number): number {
    return Math.max(0, Math.min(timeout, this.#deadline - performance.now()));
  }
}

/** @returns `undefined` where the key server says that it has none */
export async function fetchFromKeyServer(
  dispatcher: Dispatcher,
  keyServer: string,
  path: string,
  maximumLength: number,
  timeout?: number,
): Promise<Uint8Array | undefined> {
  const answer = await exchange(dispatcher, keyServer, path, {
    maximumLength,
    ...(timeout !== undefined && { timeout }),
  });
  return answer.status === 200 ? answer.body : undefined;
}

/** Whoever asked refuses what is longer than it may be; the rest of it is not taken. */
async function readUpTo(body: BodyQueue, length: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for await (const part of body) {
    parts.push(part);
    total += part.length;
    if (total >= length) break;
  }
  if (total >= length) body.destroy(new Error('more than was wanted'));
  return concatAll(parts);
}

function tooSlow(origin: string): ReadingError {
  return new ReadingError('content-host-unreachable', `${origin} took too long`);
}
