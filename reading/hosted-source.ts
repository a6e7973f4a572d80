/**
 * Where the files of a site's publication come from: roots and timestamp from elsewhere first, everything else from the content hosts in the
 * publisher's order; where one is late, from the next in parallel. Nothing is verified here; time is bounded here, size by the fetcher.
 */
import { hexDigest } from '../core/encoding/digest.ts';
import { PUBLICATION_LIMITS } from '../core/publication/limits.ts';
import { FIRST_ROOT_FILE, METADATA_PATH, TIMESTAMP_FILE } from '../core/publication/names.ts';
import type { SiteSource } from '../core/publication/site-publication.ts';
import type { IsGood, TimestampAnswer } from '../core/publication/sources.ts';
import { hedged, type Outcome } from './hedged.ts';

/** One file, and the bounds of fetching it. */
export interface HostedFile {
  readonly path: string;
  readonly maximumLength: number;
  readonly milliseconds: number;
  /** Caches on the way have to revalidate. */
  readonly newest: boolean;
  /** Aborts when another host was quicker; that is no failure. */
  readonly signal?: AbortSignal;
}

/** Fetches one file. @returns `undefined` where the host says that it has none; one byte more than `maximumLength` where it is longer */
export type FetchFile<Host> = (host: Host, wanted: HostedFile) => Promise<Uint8Array | undefined>;

/** A content host, by its origin or with it. */
type AnyHost = string | { readonly origin: string };

export interface HostedSourceOptions<Host extends AnyHost> {
  /** From the current descriptor, in order. For a timestamp a slow host is not last: it may have the newest. */
  readonly hosts: (wanted: 'file' | 'timestamp') => readonly Host[];
  readonly fetch: FetchFile<Host>;
  /** A metadata file that is stored already: roots. */
  readonly own: (file: string) => Uint8Array | undefined | Promise<Uint8Array | undefined>;
  /** A file from the key server, which has the roots, the timestamp and the current snapshot. */
  readonly keyServer: (file: string, maximumLength: number, milliseconds: number) => Promise<Uint8Array | undefined>;
  /** Called for a host when one that was asked after it has answered. */
  readonly onSlow?: (host: Host) => void;
  /** Milliseconds for one file, for a timestamp, and until the next host is asked in parallel. */
  readonly times: {
    readonly metadataTimeout: number;
    readonly timestampTimeout: number;
    readonly hedgeAfter: number;
  };
}

/** What is looked for. */
interface WantedFile {
  readonly path: string;
  readonly maximumLength: number;
  readonly sha256?: string | undefined;
  readonly isGood?: IsGood | undefined;
  /** Nothing signed says that there is one. */
  readonly mayBeMissing: boolean;
  /** The name under which the key server may have it as well; it is asked after the hosts, and no host can hide what it has. */
  readonly atKeyServer?: string | undefined;
}

const ROOT_FILE = /^\d+\.root\.json$/;
const SNAPSHOT_FILE = /^\d+\.snapshot\.json$/;

export class HostedSource<Host extends AnyHost = string> implements SiteSource {
  readonly #options: HostedSourceOptions<Host>;
  /** Origins that gave an invalid file: asked when no other has it. */
  readonly #passedOver = new Set<string>();
  /** Origins that were late in this check. */
  readonly #late = new Set<string>();
  /** Origin of the last file. */
  #giver: string | undefined;
  /** When all fetches of one check have to be over, by `performance.now`. */
  #deadline = Number.POSITIVE_INFINITY;
  /** Whether caches on the way are to be bypassed. */
  #newest = false;
  /** The key server's timestamp, asked for beside the next root: on slow links this saves the time of a handshake. */
  #ahead: Promise<Uint8Array | undefined> | undefined;

  constructor(options: HostedSourceOptions<Host>) {
    this.#options = options;
  }

  /** Runs `work` with one deadline for all its fetches; past caches on the way, if `newest`. */
  async within<Result>(milliseconds: number, work: () => Promise<Result>, newest = false): Promise<Result> {
    this.#deadline = performance.now() + milliseconds;
    this.#newest = newest;
    this.#late.clear();
    try {
      return await work();
    } finally {
      this.#deadline = Number.POSITIVE_INFINITY;
      this.#ahead = undefined;
    }
  }

  /** The last file was invalid: from now on its host is asked last. `false` if all hosts were tried. */
  passOver(turn: number): boolean {
    if (this.#giver !== undefined) this.#passedOver.add(this.#giver);
    this.#giver = undefined;
    return turn < this.#options.hosts('file').length;
  }

  async metadata(
    file: string,
    maximumLength: number,
    sha256?: string,
    isGood?: IsGood,
  ): Promise<Uint8Array | undefined> {
    const own = await this.#options.own(file);
    if (own) return own;
    const mayBeMissing = ROOT_FILE.test(file) && file !== FIRST_ROOT_FILE;
    if (mayBeMissing) this.#askAhead();
    const atKeyServer = mayBeMissing || SNAPSHOT_FILE.test(file) ? file : undefined;
    return this.#find({ path: METADATA_PATH + file, maximumLength, sha256, isGood, mayBeMissing, atKeyServer });
  }

  /** Waits for all hosts that were asked: the slow one may have the newest timestamp. */
  async *timestamps(maximumLength: number, isEnough: () => boolean): AsyncGenerator<TimestampAnswer, undefined> {
    const { fetch, times, hosts } = this.#options;
    const path = METADATA_PATH + TIMESTAMP_FILE;
    const milliseconds = () => this.#timeLeft(times.timestampTimeout);
    const ask = (host: Host | undefined) =>
      host === undefined
        ? this.#keyServerTimestamp(maximumLength)
        : fetch(host, { path, maximumLength, milliseconds: milliseconds(), newest: this.#newest });
    const places = [undefined, ...lastOf(hosts('timestamp'), this.#passedOver)];
    for await (const outcome of hedged(places, ask, { ...times, isEnough })) {
      this.#noteLate(outcome);
      yield outcome;
    }
  }

  #askAhead(): void {
    if (this.#ahead) return;
    this.#ahead = this.#keyServerTimestamp(PUBLICATION_LIMITS.timestampLength);
    this.#ahead.catch(() => undefined); // the one who takes it is told
  }

  #keyServerTimestamp(maximumLength: number): Promise<Uint8Array | undefined> {
    const { keyServer, times } = this.#options;
    const ahead = this.#ahead ?? keyServer(TIMESTAMP_FILE, maximumLength, this.#timeLeft(times.timestampTimeout));
    this.#ahead = undefined;
    return ahead;
  }

  /** A content host without it, or with another file, may be out of date: the next one is asked. */
  async file(urlPath: string, maximumLength: number, sha256?: string): Promise<Uint8Array | undefined> {
    return this.#find({ path: urlPath, maximumLength, sha256, mayBeMissing: false });
  }

  async #find(wanted: WantedFile): Promise<Uint8Array | undefined> {
    const { hosts, times } = this.#options;
    const ending = new AbortController();
    const found = new Found(wanted.mayBeMissing);
    const ask = this.#askFor(wanted, found, ending.signal);
    const [good, passedOver] = this.#grouped(hosts('file'));
    try {
      for (const places of [wanted.atKeyServer === undefined ? good : [...good, undefined], passedOver]) {
        const silent = new Set(places);
        const giveUpAt = performance.now() + times.timestampTimeout;
        const until = () => (found.isMissing ? giveUpAt : undefined);
        for await (const outcome of hedged(places, ask, { ...times, until })) {
          const { candidate, result } = outcome;
          silent.delete(candidate);
          if (!found.isMissing) this.#noteLate(outcome); // asked at the same time, the others are not late
          if (result && (await isWanted(result, wanted))) {
            this.#giver = originOf(candidate);
            return result;
          }
          if (result) this.#passedOver.add(originOf(candidate));
          found.note(outcome);
        }
        for (const host of silent) this.#noteSlow(host);
      }
    } finally {
      ending.abort(new Error('another content host was quicker'));
    }
    return found.best();
  }

  /**
   * Once a place has no such file, only hosts are asked that were not late in this check. It may be out of date, or hide the file, so all others
   * are asked, in parallel and for at most the timeout of a timestamp: otherwise a silent host would delay every check, and with it every withdrawal.
   */
  #askFor({ path, maximumLength, atKeyServer = '' }: WantedFile, found: Found, signal: AbortSignal) {
    const { fetch, times, keyServer } = this.#options;
    const wereLate = new Set(this.#late);
    return async (host: Host | undefined): Promise<Uint8Array | undefined> => {
      if (found.isMissing && (host === undefined || wereLate.has(originOf(host)))) return undefined;
      const milliseconds = this.#timeLeft(times.metadataTimeout);
      if (host === undefined) return keyServer(atKeyServer, maximumLength, milliseconds);
      return fetch(host, { path, maximumLength, milliseconds, newest: false, signal });
    };
  }

  /** First the hosts to ask, late ones last; then those to ask where none of the first has the file. */
  #grouped(hosts: readonly Host[]): [Host[], Host[]] {
    const isPassedOver = (host: Host) => this.#passedOver.has(originOf(host));
    if (hosts.every(isPassedOver)) this.#passedOver.clear();
    const good = hosts.filter((host) => !isPassedOver(host));
    return [lastOf(good, this.#late), hosts.filter(isPassedOver)];
  }

  /** A failed request does not count as faster. */
  #noteLate(outcome: Outcome<Host | undefined, unknown>): void {
    if ('error' in outcome) return;
    for (const host of outcome.late) this.#noteSlow(host);
  }

  #noteSlow(host: Host | undefined): void {
    if (host === undefined) return;
    this.#late.add(originOf(host));
    this.#options.onSlow?.(host);
  }

  #timeLeft(timeout: number): number {
    return Math.max(0, Math.min(timeout, this.#deadline - performance.now()));
  }
}

/** Those with these origins last. */
function lastOf<Host extends AnyHost>(hosts: readonly Host[], origins: ReadonlySet<string>): Host[] {
  return hosts.toSorted((one, other) => Number(origins.has(originOf(one))) - Number(origins.has(originOf(other))));
}

async function isWanted(bytes: Uint8Array, { sha256, isGood }: WantedFile): Promise<boolean> {
  return isGood ? isGood(bytes) : sha256 === undefined || (await hexDigest(bytes)) === sha256;
}

/** The answers of places without the file: other bytes come first, which the caller refuses with the right code, unless it may be missing. */
class Found {
  readonly #mayBeMissing: boolean;
  #other: Uint8Array | undefined;
  #failure: { readonly error: unknown } | undefined;
  #isMissing = false;

  constructor(mayBeMissing: boolean) {
    this.#mayBeMissing = mayBeMissing;
  }

  /** Whether one place has no such file, and there may be none. */
  get isMissing(): boolean {
    return this.#mayBeMissing && this.#isMissing;
  }

  note(outcome: Outcome<unknown, Uint8Array | undefined>): void {
    if ('error' in outcome) this.#failure ??= { error: outcome.error };
    else if (outcome.result) this.#other ??= outcome.result;
    // The key server has few files, but every root that it knows.
    else if (outcome.candidate !== undefined || this.#mayBeMissing) this.#isMissing = true;
  }

  /** @throws the first failure, where no host has said that there is no such file */
  best(): Uint8Array | undefined {
    if (this.isMissing) return undefined;
    if (this.#other === undefined && this.#failure && !this.#isMissing) throw this.#failure.error;
    return this.#other;
  }
}

/** @param host - `undefined`: the key server, which is none */
function originOf(host: AnyHost | undefined): string {
  if (host === undefined) return '';
  return typeof host === 'string' ? host : host.origin;
}
