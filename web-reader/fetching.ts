/** Fetches from content hosts, by CORS. They are not trusted: no cookie goes out, no redirect leads elsewhere, no header of theirs is looked at. */
import { ByteReader } from '../core/encoding/byte-reader.ts';
import type { ByteRange } from '../core/object/geometry.ts';
import { ReadingError } from '../reading/errors.ts';
import type { HostAnswer } from '../reading/open-at.ts';
import type { HostAttempt } from '../reading/payload.ts';

/** Milliseconds. */
export interface BodyTimes {
  /** Time between two pieces of a body. */
  readonly piece: number;
  /** Time in which a host may be as slow as it likes; on average over each such time it gives {@link SLOWEST} at least. */
  readonly slow: number;
}

const BODY_TIMES: BodyTimes = { piece: 30_000, slow: 60_000 };

/** Bytes a second: otherwise a host that sends one now and then would keep a page from the others for ever. */
const SLOWEST = 1024;

/** Hosts without a key server may lead from `/x.html` to `/x`: what is fetched is verified, wherever it lies at this origin. */
const HERE = { mode: 'same-origin', redirect: 'follow' } as const;
const ELSEWHERE = { mode: 'cors', redirect: 'error' } as const;

/** Exchange with one content host: everything that it sends ends together. */
export class FetchingHost implements HostAttempt {
  readonly origin: string;
  readonly #times: BodyTimes;
  readonly #cache: RequestCache;
  readonly #ending = new AbortController();

  /** @param cache - mode of each fetch that names none */
  constructor(origin: string, times = BODY_TIMES, cache: RequestCache = 'default') {
    this.origin = origin;
    this.#times = times;
    this.#cache = cache;
  }

  /**
   * Fetches one path, or a range of it. With `no-store` browsers would send `no-cache`, and shared caches fetch again.
   *
   * @throws ReadingError `content-host-unreachable`
   */
  readonly fetch = async (urlPath: string, range?: ByteRange, cache = this.#cache): Promise<HostAnswer> => {
    try {
      const answer = await fetch(this.origin + urlPath, {
        ...(this.origin === location.origin ? HERE : ELSEWHERE),
        credentials: 'omit',
        referrerPolicy: 'no-referrer',
        cache,
        signal: this.#ending.signal,
        ...(range && { headers: { range: `bytes=${range.start}-${range.end - 1}` } }),
      });
      return { status: answer.status, body: this.#piecesOf(answer.body) };
    } catch (cause) {
      throw this.#unreachable(cause);
    }
  };

  /** Closes everything that is still coming. */
  end(): void {
    this.#ending.abort();
  }

  async *#piecesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array, undefined> {
    const reader = body?.getReader();
    let [waited, received] = [0, 0];
    try {
      for (;;) {
        const timer = setTimeout(() => this.end(), this.#times.piece);
        const asked = performance.now(); // work on a piece is no fault of the host's
        const piece = await reader?.read().finally(() => clearTimeout(timer));
        if (piece === undefined || piece.done) return;
        waited += performance.now() - asked;
        received += piece.value.length;
        if (waited > this.#times.slow) {
          if (received < (waited / 1000) * SLOWEST) throw new Error('it is too slow');
          [waited, received] = [0, 0];
        }
        yield piece.value;
      }
    } catch (cause) {
      throw this.#unreachable(cause);
    } finally {
      reader?.cancel().catch(() => undefined); // ignored: of a stream that failed, the browser says so again
    }
  }

  #unreachable(cause: unknown): ReadingError {
    return new ReadingError('content-host-unreachable', `${this.origin} cannot be reached, or broke off`, { cause });
  }
}

export interface SmallFile {
  readonly origin: string;
  readonly path: string;
  readonly maximumLength: number;
  readonly milliseconds: number;
  readonly cache: RequestCache;
  /** Ends it. */
  readonly signal?: AbortSignal;
}

/**
 * Fetches a small file whole.
 *
 * @returns `undefined` where the host says that it has none; one byte more than `maximumLength` where it is longer
 * @throws ReadingError `content-host-unreachable`, `content-host-answer`
 */
export async function fetchSmall({
  origin,
  path,
  maximumLength,
  milliseconds,
  cache,
  signal,
}: SmallFile): Promise<Uint8Array | undefined> {
  const attempt = new FetchingHost(origin);
  const timer = setTimeout(() => attempt.end(), milliseconds);
  signal?.addEventListener('abort', () => attempt.end());
  try {
    const { status, body } = await attempt.fetch(path, undefined, cache);
    if (status === 200) return await new ByteReader(body).readUpTo(maximumLength + 1);
    if (status === 404 || status === 410) return undefined;
    throw new ReadingError('content-host-answer', `${origin} answered ${status} when asked for ${path}`);
  } finally {
    clearTimeout(timer);
    attempt.end();
  }
}
