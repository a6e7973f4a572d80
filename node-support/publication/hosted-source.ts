/**
 * Where the files of a site's publication come from: what is at hand already, and everything else from the content hosts, in the publisher's
 * order. Nothing of it is believed here; it is bounded in time, and by whoever fetches in size.
 */
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import type { SiteSource } from '../../core/publication/site-publication.ts';

/** Fetches one file; `newest`: whatever caches on the way hold is to be confirmed by the host. @returns `undefined` where the host says that it has none; one byte more than `maximum` where it is longer */
export type FetchFile<Host> = (
  host: Host,
  urlPath: string,
  maximumLength: number,
  milliseconds: number,
  newest: boolean,
) => Promise<Uint8Array | undefined>;

export interface HostedSourceOptions<Host> {
  /** As the descriptor has them now. */
  readonly hosts: () => readonly Host[];
  readonly fetch: FetchFile<Host>;
  /** A metadata file that is at hand: roots. */
  readonly own: (file: string) => Uint8Array | undefined;
  /** The timestamp, from where it is asked for first. */
  readonly ownTimestamp: (maximumLength: number, milliseconds: number) => Promise<Uint8Array | undefined>;
  /** Milliseconds for one file, and for a timestamp. */
  readonly times: { readonly metadataTimeout: number; readonly timestampTimeout: number };
}

export class HostedSource<Host = unknown> implements SiteSource {
  readonly #options: HostedSourceOptions<Host>;
  /** The content host that is asked first. */
  #first = 0;
  /** When one look for newer files has to be over, all of them together; by `performance.now`. */
  #deadline = Number.POSITIVE_INFINITY;
  /** Whether this look was asked for by somebody who wants what is newest. */
  #newest = false;

  constructor(options: HostedSourceOptions<Host>) {
    this.#options = options;
  }

  /** Does `work` with a bound on the time of all its fetches together; past the caches on the way, if `newest`. */
  async within<Result>(milliseconds: number, work: () => Promise<Result>, newest = false): Promise<Result> {
    this.#deadline = performance.now() + milliseconds;
    this.#newest = newest;
    try {
      return await work();
    } finally {
      this.#deadline = Number.POSITIVE_INFINITY;
    }
  }

  /** What came from the first content host was no good: from now on the next one is asked first. `false` if all have had their turn. */
  passOver(turn: number): boolean {
    this.#first++;
    return turn < this.#options.hosts().length;
  }

  async metadata(file: string, maximumLength: number): Promise<Uint8Array | undefined> {
    return this.#options.own(file) ?? this.file(METADATA_PATH + file, maximumLength);
  }

  timestamps(maximumLength: number): (() => Promise<Uint8Array | undefined>)[] {
    const { ownTimestamp, fetch, times } = this.#options;
    const path = METADATA_PATH + TIMESTAMP_FILE;
    const timeLeft = () => this.#timeLeft(times.timestampTimeout);
    return [
      () => ownTimestamp(maximumLength, timeLeft()),
      ...this.#inOrder().map((host) => () => fetch(host, path, maximumLength, timeLeft(), this.#newest)),
    ];
  }

  /** A content host that does not have it may only be late: the next one is asked. */
  async file(urlPath: string, maximumLength: number): Promise<Uint8Array | undefined> {
    const { fetch, times } = this.#options;
    let failure: unknown;
    let missing = false;
    for (const host of this.#inOrder()) {
      try {
        const bytes = await fetch(host, urlPath, maximumLength, this.#timeLeft(times.metadataTimeout), false);
        if (bytes) return bytes;
        missing = true;
      } catch (error) {
        failure ??= error;
      }
    }
    if (failure !== undefined && !missing) throw failure;
    return undefined;
  }

  #inOrder(): Host[] {
    const hosts = this.#options.hosts();
    const first = this.#first % Math.max(1, hosts.length);
    return [...hosts.slice(first), ...hosts.slice(0, first)];
  }

  #timeLeft(timeout: number): number {
    return Math.max(0, Math.min(timeout, this.#deadline - performance.now()));
  }
}
