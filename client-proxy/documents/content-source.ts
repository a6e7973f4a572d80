/** The content hosts of a site, for one request: if one fails, the next; if it is slow, the next in parallel. */
import type { ByteRange } from '../../core/object/geometry.ts';
import { ReadingError } from '../../reading/errors.ts';
import { hedged } from '../../reading/hedged.ts';
import { faultOf, moreTelling } from '../../reading/host-faults.ts';
import type { HostAttempt } from '../../reading/payload.ts';
import type { Upstream } from '../network/upstream.ts';
import { type BodyRequest, type BodyResponse, fetchBody, PAST_CACHES } from '../site/fetch-body.ts';
import { type HostHealth, mayAnotherHelp } from '../site/host-health.ts';
import type { CachedObject } from './cache/stored-object.ts';

type How = Pick<BodyRequest, 'bodyTimeout' | 'fields'>;

type UpstreamHost = ReturnType<typeof attemptAt>;

function attemptAt(upstream: Upstream, origin: string, how: How) {
  const ending = new AbortController();
  const { signal } = ending;
  const fetch = async (path: string, range?: ByteRange): Promise<BodyResponse> => {
    signal.throwIfAborted();
    const answer = await fetchBody(upstream, origin, { path, range, ...how }, signal);
    signal.throwIfAborted();
    return answer;
  };
  return { origin, fetch, end: (reason: Error = NOT_WANTED) => ending.abort(reason) };
}

export interface ContentSourceOptions {
  readonly upstream: Upstream;
  readonly health: HostHealth;
  readonly origins: readonly string[];
  /** Tells whether the object lies at a URL whose content changes: then another object there is not the host's fault. */
  readonly inPage: boolean;
}

export class ContentSource {
  readonly #options: ContentSourceOptions;
  #stopWaiting: (() => void) | undefined;
  #attempts: UpstreamHost[] = [];
  #held: CachedObject | undefined;
  #opened = false;
  #ended: Error | undefined;
  #isPastCaches = false;

  constructor(options: ContentSourceOptions) {
    this.#options = options;
  }

  /** The document is open: from now on only silence ends it. */
  opened(): void {
    this.#opened = true;
    this.#stopWaiting?.();
  }

  /** Abandons what is coming: something else will be fetched. */
  release(): void {
    for (const attempt of this.#attempts) attempt.end();
  }

  get wasAsked(): boolean {
    return this.#attempts.length > 0;
  }

  /** An object of the cache that is read for this request; closed when it ends. */
  retain(stored: CachedObject): void {
    this.#held?.close();
    this.#held = stored;
  }

  end(reason: Error): void {
    this.#stopWaiting?.();
    this.#ended ??= reason;
    this.#held?.close();
    for (const attempt of this.#attempts) attempt.end(reason);
  }

  /** Does `work` with one host after another. @throws the most telling failure; at once, where no other would help */
  async ask<Result>(
    work: (attempt: UpstreamHost) => Promise<Result>,
    passedOver: ReadonlySet<string> = NONE,
  ): Promise<Result> {
    const { health, origins } = this.#options;
    const order = health.inOrder(origins);
    const waiting = passedOver.size === 0 ? order : order.filter((origin) => !passedOver.has(origin));
    try {
      if (waiting.length !== 1) return await this.#race(waiting, work);
      return await work(this.#begin(waiting[0] as string));
    } catch (error) {
      if (waiting.length === 1) this.#recordFailure(waiting[0] as string, error);
      const mayHelp = waiting.length === 0 || faultOf(error) === 'wrong';
      if (!mayHelp || order[0] === undefined) throw error;
      return this.#askPastCaches(order[0], work, error);
    }
  }

  /** A cache on the way may hold a damaged or stale copy: once per request, the host itself is asked. */
  async #askPastCaches<Result>(
    origin: string,
    work: (attempt: UpstreamHost) => Promise<Result>,
    failure: unknown,
  ): Promise<Result> {
    if (this.#isPastCaches || this.#ended) throw failure;
    this.#isPastCaches = true;
    try {
      return await work(this.#begin(origin, { fields: PAST_CACHES }));
    } catch (error) {
      throw faultOf(error) === undefined ? error : moreTelling(error, failure);
    }
  }

  /** Records that a host failed, and ends what still comes from it. @returns whether another one may succeed */
  failed(attempt: HostAttempt, error: unknown): boolean {
    attempt.end();
    this.#recordFailure(attempt.origin, error);
    return mayAnotherHelp(error) && !this.#ended;
  }

  #recordFailure(origin: string, error: unknown): void {
    const aged = this.#options.inPage && faultOf(error) === 'wrong';
    if (!aged && !this.#ended) this.#options.health.recordFailure(origin, error);
  }

  async #race<Result>(waiting: readonly string[], work: (attempt: UpstreamHost) => Promise<Result>): Promise<Result> {
    const begun = new Map<string, UpstreamHost>();
    const start = (origin: string) => {
      const attempt = this.#begin(origin, { bodyTimeout: this.#options.upstream.limits.bodyTimeoutAmongSeveral });
      begun.set(origin, attempt);
      return work(attempt);
    };
    let failure: unknown = new ReadingError('content-host-unreachable', 'the site has no other content host');
    for await (const outcome of hedged(waiting, start, this.#options.upstream.limits)) {
      const attempt = begun.get(outcome.candidate) as UpstreamHost;
      if (!('error' in outcome)) {
        this.#endOthers(begun.values(), attempt, outcome.late);
        return outcome.result as Result;
      }
      if (!this.failed(attempt, outcome.error)) throw outcome.error;
      failure = moreTelling(failure, outcome.error);
    }
    throw failure;
  }

  #begin(origin: string, how: How = {}): UpstreamHost {
    if (this.#ended) throw this.#ended;
    const { openTimeout } = this.#options.upstream.limits;
    if (!this.#opened)
      this.#stopWaiting ??= this.#options.upstream.line.wait(openTimeout, () => this.end(tooSlow(openTimeout))).stop;
    const attempt = attemptAt(this.#options.upstream, origin, how);
    this.#attempts.push(attempt);
    return attempt;
  }

  /** Ends all attempts but the first that succeeded, and records the late hosts as slow. */
  #endOthers(begun: Iterable<UpstreamHost>, winner: UpstreamHost, late: readonly string[]): void {
    for (const origin of late) this.#options.health.record(origin, 'slow', 'slow');
    for (const attempt of begun) if (attempt !== winner) attempt.end(new Error('another content host was quicker'));
  }
}

const NONE: ReadonlySet<string> = new Set();
const NOT_WANTED = new Error('not wanted');

function tooSlow(milliseconds: number): ReadingError {
  return new ReadingError('content-host-unreachable', `the content host took more than ${milliseconds / 1000} seconds`);
}
