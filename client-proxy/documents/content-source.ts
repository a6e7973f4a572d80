/**
 * Where one request gets its bytes: the content hosts of a site. The first one is asked; where it fails, the next; where it is late, the
 * next beside it, and whoever has the document open first is taken. Holds what is under way, so that everything ends when the client
 * leaves, or when it takes too long until a document is open.
 */
import type { ByteRange } from '../../core/object/geometry.ts';
import { ReadingError } from '../../core/reading/errors.ts';
import type { ContentAnswer } from '../../core/reading/open-at.ts';
import type { StoredObject } from '../cache/stored-object.ts';
import { type Answer, fetchBody } from '../content/fetch-body.ts';
import { faultOf, type HostHealth } from '../content/host-health.ts';
import type { Upstream } from '../content/upstream.ts';
import { LIMITS } from '../limits.ts';

/** One content host's part in a request. */
export class HostAttempt {
  readonly origin: string;
  readonly #upstream: Upstream;
  readonly #bodyTimeout: number;
  readonly #ending = new AbortController();
  #answer: Answer | undefined;

  constructor(upstream: Upstream, origin: string, bodyTimeout: number) {
    this.#upstream = upstream;
    this.origin = origin;
    this.#bodyTimeout = bodyTimeout;
  }

  /** For `openAt`. */
  readonly fetch = (urlPath: string): Promise<ContentAnswer> => this.fetchRange(urlPath);

  /** For `describeAt`. */
  readonly fetchPart = (urlPath: string, range?: ByteRange): Promise<ContentAnswer> => this.fetchRange(urlPath, range);

  /** One path, or a range of it. */
  async fetchRange(urlPath: string, range?: ByteRange): Promise<Answer> {
    const { signal } = this.#ending;
    signal.throwIfAborted();
    const wanted = { path: urlPath, range, bodyTimeout: this.#bodyTimeout };
    this.#answer = await fetchBody(this.#upstream, this.origin, wanted, signal);
    signal.throwIfAborted();
    return this.#answer;
  }

  /** What is coming now is not wanted any more; something else will be fetched. */
  release(): void {
    this.#answer?.body.destroy(new Error('not wanted'));
    this.#answer = undefined;
  }

  /** Closes whatever is still coming, also what was given up before. Harmless where all has come. */
  end(reason: Error): void {
    this.#ending.abort(reason);
  }
}

/** How an attempt ended. */
interface Outcome<Result> {
  readonly attempt: HostAttempt;
  readonly result?: Result;
  readonly error?: unknown;
}

export interface ContentSourceOptions {
  readonly upstream: Upstream;
  readonly health: HostHealth;
  /** In the publisher's order. */
  readonly origins: readonly string[];
  /** Whether the object lies at a URL whose content changes: then another one there is nobody's fault. */
  readonly inPage: boolean;
}

export class ContentSource {
  readonly #upstream: Upstream;
  readonly #origins: readonly string[];
  readonly #health: HostHealth;
  readonly #inPage: boolean;
  readonly #timer: NodeJS.Timeout;
  #attempts: HostAttempt[] = [];
  #held: StoredObject | undefined;
  #ended: Error | undefined;

  constructor({ upstream, health, origins, inPage }: ContentSourceOptions) {
    this.#upstream = upstream;
    this.#health = health;
    this.#origins = origins;
    this.#inPage = inPage;
    this.#timer = setTimeout(() => this.end(tooSlow()), LIMITS.openTimeout);
  }

  /** The document is open: from now on only silence ends it. */
  opened(): void {
    clearTimeout(this.#timer);
  }

  /** What is coming now is not wanted any more; something else will be fetched. */
  release(): void {
    for (const attempt of this.#attempts) attempt.release();
  }

  /** An object of the cache that is read for this request; closed when it ends. */
  hold(stored: StoredObject): void {
    this.#held?.close();
    this.#held = stored;
  }

  /** Closes whatever is still coming, also what was given up before. Harmless where all has come. */
  end(reason: Error): void {
    clearTimeout(this.#timer);
    this.#ended ??= reason;
    this.#held?.close();
    for (const attempt of this.#attempts) attempt.end(reason);
  }

  /**
   * Does `work` with one content host after the other, until it succeeds; see above.
   *
   * @param passedOver - hosts that are not to be asked
   * @throws what the most telling failure was; at once, where it is none of the host's
   */
  async ask<Result>(
    work: (attempt: HostAttempt) => Promise<Result>,
    passedOver: ReadonlySet<string> = NOBODY,
  ): Promise<Result> {
    const waiting = this.#health.inOrder(this.#origins).filter((origin) => !passedOver.has(origin));
    const [first] = waiting;
    if (first === undefined) throw new ReadingError('content-host-unreachable', 'the site has no other content host');
    if (waiting.length === 1) return this.#askOne(this.#begin(first, LIMITS.bodyTimeout), work);
    return this.#race(waiting, work);
  }

  async #askOne<Result>(attempt: HostAttempt, work: (attempt: HostAttempt) => Promise<Result>): Promise<Result> {
    try {
      return await work(attempt);
    } catch (error) {
      this.failed(attempt, error);
      throw error;
    }
  }

  /** A host has failed, perhaps late: that is remembered. @returns whether another one could do better */
  failed({ origin }: HostAttempt, error: unknown): boolean {
    const fault = faultOf(error);
    const aged = this.#inPage && fault === 'wrong';
    if (fault !== undefined && !aged && !this.#ended)
      this.#health.note(origin, fault, (error as { code: string }).code);
    return fault !== undefined && !this.#ended;
  }

  async #race<Result>(waiting: readonly string[], work: (attempt: HostAttempt) => Promise<Result>): Promise<Result> {
    const running = new Map<HostAttempt, Promise<Outcome<Result>>>();
    let next = 0;
    let failure: unknown;
    for (;;) {
      if (running.size === 0 && next === waiting.length) throw failure;
      // The first one; and another where all that were begun have failed, or take too long.
      if (next < waiting.length) this.#start(waiting[next++] as string, work, running);
      const outcome = await firstOf(running, next < waiting.length ? LIMITS.hedgeAfter : undefined);
      if (outcome === undefined) continue;
      running.delete(outcome.attempt);
      if (!('error' in outcome)) {
        this.#giveUp(running.keys(), outcome.attempt);
        return outcome.result as Result;
      }
      if (!this.failed(outcome.attempt, outcome.error)) throw outcome.error;
      failure = moreTelling(failure, outcome.error);
    }
  }

  #start<Result>(
    origin: string,
    work: (attempt: HostAttempt) => Promise<Result>,
    running: Map<HostAttempt, Promise<Outcome<Result>>>,
  ): void {
    const attempt = this.#begin(origin, LIMITS.bodyTimeoutAmongSeveral);
    const outcome = work(attempt).then(
      (result) => ({ attempt, result }),
      (error: unknown) => ({ attempt, error }),
    );
    running.set(attempt, outcome);
  }

  #begin(origin: string, bodyTimeout: number): HostAttempt {
    if (this.#ended) throw this.#ended;
    const attempt = new HostAttempt(this.#upstream, origin, bodyTimeout);
    this.#attempts.push(attempt);
    return attempt;
  }

  /** Those that were begun before the one that was quickest were slow. */
  #giveUp(others: Iterable<HostAttempt>, winner: HostAttempt): void {
    const begun = this.#attempts.indexOf(winner);
    for (const attempt of others) {
      if (this.#attempts.indexOf(attempt) < begun) this.#health.note(attempt.origin, 'slow', 'slow');
      attempt.end(new Error('another content host was quicker'));
    }
  }
}

const NOBODY: ReadonlySet<string> = new Set();

/** `undefined` when the time is over before any has ended. */
async function firstOf<Result>(
  running: ReadonlyMap<HostAttempt, Promise<Outcome<Result>>>,
  milliseconds: number | undefined,
): Promise<Outcome<Result> | undefined> {
  if (milliseconds === undefined) return Promise.race(running.values());
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, milliseconds, undefined);
  });
  try {
    return await Promise.race([...running.values(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A host that has something else says more than one that says nothing: the publication may have moved on. */
function moreTelling(one: unknown, other: unknown): unknown {
  return one === undefined || rank(other) > rank(one) ? other : one;
}

function rank(error: unknown): number {
  const { code } = error as { code?: string };
  if (code === 'content-host-unreachable') return 0;
  if (code === 'content-host-answer') return 1;
  return code === 'object-missing' ? 2 : 3;
}

function tooSlow(): ReadingError {
  return new ReadingError(
    'content-host-unreachable',
    `the content host took more than ${LIMITS.openTimeout / 1000} seconds`,
  );
}
