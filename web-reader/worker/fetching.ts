/** Fetches from content hosts, by CORS. They are not trusted: no cookie goes out, no redirect is followed, no header of theirs is looked at. */
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { ByteRange } from '../../core/object/geometry.ts';
import { ReadingError } from '../../core/reading/errors.ts';

/** Milliseconds between two pieces of a body. */
const BODY_TIMEOUT = 30_000;

export interface HostAnswer {
  readonly status: number;
  readonly body: AsyncGenerator<Uint8Array, undefined>;
}

/** One content host's part in a request: everything that it sends ends together. */
export class HostAttempt {
  readonly origin: string;
  readonly #ending = new AbortController();

  constructor(origin: string) {
    this.origin = origin;
  }

  /** Fetches one path, or a range of it. @throws ReadingError `content-host-unreachable` */
  readonly fetch = async (
    urlPath: string,
    range?: ByteRange,
    cache: RequestCache = 'no-store',
  ): Promise<HostAnswer> => {
    try {
      const answer = await fetch(this.origin + urlPath, {
        mode: 'cors',
        credentials: 'omit',
        redirect: 'error',
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
    try {
      for (;;) {
        const timer = setTimeout(() => this.end(), BODY_TIMEOUT);
        const piece = await reader?.read().finally(() => clearTimeout(timer));
        if (piece === undefined || piece.done) return;
        yield piece.value;
      }
    } catch (cause) {
      throw this.#unreachable(cause);
    } finally {
      reader?.cancel().catch(() => undefined); // of one that failed, the browser says so again
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
}: SmallFile): Promise<Uint8Array | undefined> {
  const attempt = new HostAttempt(origin);
  const timer = setTimeout(() => attempt.end(), milliseconds);
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
