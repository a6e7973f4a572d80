/**
 * Source of the files of a site's publication: what is at hand, then the content hosts in the publisher's order; where one is late, the
 * next in parallel. The key server comes first for a timestamp, and last for a snapshot, which no host can hide then. Nothing is believed here;
 * time is bounded here, size by the fetcher.
 */
import { hexDigest } from '../core/encoding/digest.ts';
import { PUBLICATION_LIMITS } from '../core/publication/limits.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../core/publication/names.ts';
import type { SiteSource } from '../core/publication/site-publication.ts';
import type { IsGood, TimestampAnswer } from '../core/publication/sources.ts';
import { hedged, type Outcome } from './hedged.ts';
import type { ReadingTimes } from './times.ts';

export interface HostedFile {
  readonly path: string;
  readonly maximumLength: number;
  readonly milliseconds: number;
  /** True where its hash is known: then nobody waits for a slow host alone. */
  readonly isPinned?: boolean;
  /** Caches on the way have to revalidate. */
  readonly newest: boolean;
  /** Aborts when another host was quicker; that is no failure. */
  readonly signal?: AbortSignal;
}

/** Fetches one file. @returns `undefined` where the host says that it has none; one byte more than `maximumLength` where it is longer */
export type FetchFile<Host> = (host: Host, file: HostedFile) => Promise<Uint8Array | undefined>;

/** A content host, by its origin or with it. */
type AnyHost = string | { readonly origin: string };

/** `undefined`: the key server. */
type Endpoint<Host> = Host | undefined;

type OwnFile = Uint8Array | null | undefined;

export interface HostedSourceOptions<Host extends AnyHost> {
  /** Hosts of the current descriptor, in order. For a timestamp a slow host is not last: it may have the newest. */
  readonly hosts: (wanted: 'file' | 'timestamp') => readonly Host[] | Promise<readonly Host[]>;
  readonly fetch: FetchFile<Host>;
  /** A file that is at hand, by its URL path. `null`: there is none, and none is looked for elsewhere. */
  readonly own?: (path: string) => OwnFile | Promise<OwnFile>;
  /** A file from the key server, which has the roots, the timestamp and the current snapshot. Left out where the site has none. */
  readonly keyServer?: ((file: HostedFile) => Promise<Uint8Array | undefined>) | undefined;
  /** Called for a host when one that was asked after it has answered. */
  readonly onSlow?: (host: Host) => void;
  readonly times: ReadingTimes;
}

interface SoughtFile {
  readonly path: string;
  readonly maximumLength: number;
  readonly isPinned: boolean;
  readonly isGood: IsGood;
  readonly isAtKeyServer: boolean;
  readonly mayBeMissing: boolean;
}

const SNAPSHOT_FILE = /^\d+\.snapshot\.json$/;

export class HostedSource<Host extends AnyHost = string> implements SiteSource {
  readonly #options: HostedSourceOptions<Host>;
  /** Origins that were late, or gave other bytes, in this check: asked last. */
  readonly #last = new Set<string>();
  /** Time by which all fetches of one check have to be over, by `performance.now`. */
  #deadline = Number.POSITIVE_INFINITY;
  #newest = false;
  /** The first timestamp, asked for beside the next root: on slow links this saves a round trip. */
  #ahead: { readonly endpoint: Endpoint<Host>; readonly answer: Promise<Uint8Array | undefined> } | undefined;

  constructor(options: HostedSourceOptions<Host>) {
    this.#options = options;
  }

  /** Runs `work` with one deadline for all its fetches. One at a time. @param newest - whether caches on the way have to revalidate */
  async check<Result>(work: () => Promise<Result>, newest = false): Promise<Result> {
    this.#deadline = performance.now() + this.#options.times.checkTimeout;
    this.#newest = newest;
    this.#last.clear();
    try {
      return await work();
    } finally {
      this.#deadline = Number.POSITIVE_INFINITY;
      this.#ahead = undefined;
    }
  }

  /**
   * A file that may be missing is asked for everywhere at once: mostly there is none, and a host that has none may be out of date, or hide it.
   *
   * @param isGood - only for a file that may be missing
   */
  metadata(file: string, maximumLength: number, sha256?: string, isGood?: IsGood): Promise<Uint8Array | undefined> {
    const mayBeMissing = isGood !== undefined;
    return this.#find({
      path: METADATA_PATH + file,
      maximumLength,
      isPinned: sha256 !== undefined,
      isGood: isGood ?? hashedTo(sha256),
      isAtKeyServer: mayBeMissing || SNAPSHOT_FILE.test(file),
      mayBeMissing,
    });
  }

  file(path: string, maximumLength: number, sha256?: string): Promise<Uint8Array | undefined> {
    const isPinned = sha256 !== undefined;
    const rest = { isGood: hashedTo(sha256), isAtKeyServer: false, mayBeMissing: false };
    return this.#find({ path, maximumLength, isPinned, ...rest });
  }

  /** Waits for all hosts that were asked: the slow one may have the newest timestamp. */
  async *timestamps(maximumLength: number, isEnough: () => boolean): AsyncGenerator<TimestampAnswer, undefined> {
    const endpoints = await this.#timestampEndpoints();
    const ahead = this.#ahead;
    this.#ahead = undefined;
    const ask = (endpoint: Endpoint<Host>) =>
      ahead && ahead.endpoint === endpoint ? ahead.answer : this.#fetchTimestamp(endpoint, maximumLength);
    for await (const outcome of hedged(endpoints, ask, { ...this.#options.times, isEnough })) {
      this.#recordLate(outcome);
      yield outcome;
    }
  }

  async #timestampEndpoints(): Promise<readonly Endpoint<Host>[]> {
    const hosts = await this.#options.hosts('timestamp');
    return this.#options.keyServer ? [undefined, ...hosts] : hosts;
  }

  #fetchTimestamp(endpoint: Endpoint<Host>, maximumLength: number): Promise<Uint8Array | undefined> {
    const milliseconds = this.#timeLeft(this.#options.times.timestampTimeout);
    const path = METADATA_PATH + TIMESTAMP_FILE;
    return this.#fetch(endpoint, { path, maximumLength, milliseconds, newest: this.#newest });
  }

  async #askAhead(): Promise<void> {
    if (this.#ahead) return;
    const [endpoint] = await this.#timestampEndpoints();
    const answer = this.#fetchTimestamp(endpoint, PUBLICATION_LIMITS.timestampLength);
    answer.catch(() => undefined); // `timestamps` reports it
    this.#ahead = { endpoint, answer };
  }

  async #find(file: SoughtFile): Promise<Uint8Array | undefined> {
    const { own, hosts, keyServer } = this.#options;
    const atHand = await own?.(file.path);
    if (atHand === null) return undefined;
    if (atHand && (await file.isGood(atHand))) return atHand;
    if (file.mayBeMissing) await this.#askAhead();
    const endpoints: Endpoint<Host>[] = this.#lastOnesLast(await hosts('file'));
    if (keyServer && file.isAtKeyServer) endpoints.push(undefined);
    const ending = new AbortController();
    try {
      return await this.#findAt(endpoints, file, ending.signal);
    } finally {
      ending.abort();
    }
  }

  /** @throws the first failure, where no host says that it has no such file, and none has other bytes */
  async #findAt(
    endpoints: readonly Endpoint<Host>[],
    { path, maximumLength, isPinned, isGood, mayBeMissing }: SoughtFile,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const { times } = this.#options;
    const timeout = mayBeMissing ? times.timestampTimeout : times.metadataTimeout;
    const bounds = { path, maximumLength, isPinned, newest: mayBeMissing, signal };
    const ask = (endpoint: Endpoint<Host>) =>
      this.#fetch(endpoint, { ...bounds, milliseconds: this.#timeLeft(timeout) });
    let failure: { readonly error?: unknown } | undefined;
    let other: Uint8Array | undefined;
    let isMissing = false;
    for await (const outcome of hedged(endpoints, ask, { hedgeAfter: mayBeMissing ? 0 : times.hedgeAfter })) {
      const { candidate, result } = outcome;
      if (!mayBeMissing) this.#recordLate(outcome); // hosts asked at the same time are not late
      if (result && (await isGood(result))) return result;
      if (result) {
        other ??= result;
        this.#last.add(originOf(candidate));
      } else if ('error' in outcome) failure ??= outcome;
      // The key server has few files, but every root that it knows.
      else isMissing ||= candidate !== undefined || mayBeMissing;
    }
    if (mayBeMissing && isMissing) return undefined;
    if (failure && !other && !isMissing) throw failure.error;
    return other; // the caller refuses it
  }

  async #fetch(endpoint: Endpoint<Host>, file: HostedFile): Promise<Uint8Array | undefined> {
    const { fetch, keyServer, times } = this.#options;
    const bytes = await (endpoint === undefined ? keyServer?.(file) : fetch(endpoint, file));
    const longer = (bytes?.length ?? 0) * times.slowestByte;
    this.#deadline += file.isPinned ? longer : Math.min(longer, times.slowestUnpinned);
    return bytes;
  }

  #lastOnesLast(hosts: readonly Host[]): Host[] {
    const rank = (host: Host) => Number(this.#last.has(originOf(host)));
    return hosts.toSorted((one, other) => rank(one) - rank(other));
  }

  /** A request that failed was not faster. */
  #recordLate(outcome: Outcome<Endpoint<Host>, unknown>): void {
    if ('error' in outcome) return;
    for (const host of outcome.late) {
      this.#last.add(originOf(host));
      if (host !== undefined) this.#options.onSlow?.(host);
    }
  }

  #timeLeft(timeout: number): number {
    return Math.max(0, Math.min(timeout, this.#deadline - performance.now()));
  }
}

function hashedTo(sha256: string | undefined): IsGood {
  return async (bytes) => sha256 === undefined || (await hexDigest(bytes)) === sha256;
}

function originOf(endpoint: Endpoint<AnyHost>): string {
  return typeof endpoint === 'object' ? endpoint.origin : (endpoint ?? '');
}
