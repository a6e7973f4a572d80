/**
 * Where one request gets its bytes: the content hosts of a site, in the publisher's order. Holds what is under way, so that everything
 * ends when the client leaves, or when it takes too long until a document is open.
 */
import type { ByteRange } from '../../core/object/geometry.ts';
import { askInOrder } from '../../core/reading/content-hosts.ts';
import { ReadingError } from '../../core/reading/errors.ts';
import type { ContentAnswer } from '../../core/reading/open-at.ts';
import type { BodyQueue } from '../content/body-queue.ts';
import { type Answer, fetchBody } from '../content/fetch-body.ts';
import type { Upstream } from '../content/upstream.ts';
import { LIMITS } from '../limits.ts';

export class ContentSource {
  readonly #upstream: Upstream;
  readonly #origins: readonly string[];
  readonly #timer: NodeJS.Timeout;
  #current: BodyQueue | undefined;
  readonly #ending = new AbortController();

  constructor(upstream: Upstream, origins: readonly string[]) {
    this.#upstream = upstream;
    this.#origins = origins;
    this.#timer = setTimeout(() => this.end(tooSlow()), LIMITS.openTimeout);
  }

  /** For `openAt`. */
  readonly fetch = (urlPath: string): Promise<ContentAnswer> => this.fetchRange(urlPath);

  /** One path, or a range of it. */
  fetchRange(urlPath: string, range?: ByteRange): Promise<Answer> {
    const { signal } = this.#ending;
    return askInOrder(this.#origins, async (origin) => {
      signal.throwIfAborted();
      return this.#hold(await fetchBody(this.#upstream, origin, urlPath, signal, range));
    });
  }

  /** The document is open: from now on only silence ends it. */
  opened(): void {
    clearTimeout(this.#timer);
  }

  /** What is coming now is not wanted any more; something else will be fetched. */
  release(): void {
    this.#current?.destroy(new Error('not wanted'));
    this.#current = undefined;
  }

  /** Closes whatever is still coming, also what was given up before. Harmless where all has come. */
  end(reason: Error): void {
    clearTimeout(this.#timer);
    this.#ending.abort(reason);
  }

  #hold(answer: Answer): Answer {
    this.#current = answer.body;
    this.#ending.signal.throwIfAborted();
    return answer;
  }
}

function tooSlow(): ReadingError {
  return new ReadingError(
    'content-host-unreachable',
    `the content host took more than ${LIMITS.openTimeout / 1000} seconds`,
  );
}
