/** Content hosts of a site, one after the other. All they give is verified, so their order is a matter of time only. */
import type { DocumentReader } from '../core/object/document-reader.ts';
import type { DocumentEntry } from '../core/publication/document-entry.ts';
import { ReadingError } from './errors.ts';
import { faultOf, moreTelling } from './host-faults.ts';
import { type DocumentSupply, type HostAttempt, Payload, type PayloadBytes } from './payload.ts';

/** Milliseconds for which a failure counts. */
const COUNTS_FOR = 60_000;
const MOST_ORIGINS = 1_000;

/** Remembers hosts that failed lately, so that they are asked last. */
export class FailedHosts {
  readonly #now: () => number;
  readonly #failedAt = new Map<string, number>();

  /** @param now - milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  add(origin: string): void {
    if (this.#failedAt.size >= MOST_ORIGINS) this.#failedAt.clear();
    this.#failedAt.set(origin, this.#now());
  }

  /** Tells whether it failed lately. */
  has(origin: string): boolean {
    return this.#now() - (this.#failedAt.get(origin) ?? Number.NEGATIVE_INFINITY) < COUNTS_FOR;
  }

  /** The hosts in the publisher's order, but those that failed lately last. */
  inOrder<Host extends ContentHost>(hosts: readonly Host[]): readonly Host[] {
    return hosts.toSorted((one, other) => Number(this.has(one.origin)) - Number(this.has(other.origin)));
  }
}

export interface ContentHost {
  readonly origin: string;
}

export interface BegunAttempt extends HostAttempt {
  /** Called when work with it has succeeded: until then, the adapter may limit its time. */
  opened?(): void;
}

/** Asks the content hosts of one document one after the other. Adapters begin attempts, and add what they keep. */
export abstract class HostsInTurn<Host extends ContentHost> implements DocumentSupply {
  readonly path: string;
  readonly entry: DocumentEntry;
  readonly #hosts: readonly Host[];
  readonly #failedHosts: FailedHosts;
  readonly #attempts = new Set<HostAttempt>();
  #isOver = false;

  /** @param hosts - in the publisher's order */
  constructor(path: string, entry: DocumentEntry, hosts: readonly Host[], failedHosts: FailedHosts) {
    this.path = path;
    this.entry = entry;
    this.#hosts = hosts;
    this.#failedHosts = failedHosts;
  }

  /** @param isLast - whether no other host is left to ask */
  protected abstract attempt(host: Host, isLast: boolean): BegunAttempt;

  async ask<Result>(
    work: (attempt: HostAttempt) => Promise<Result>,
    passedOver?: ReadonlySet<string>,
  ): Promise<Result> {
    const hosts = this.#failedHosts.inOrder(this.#hosts).filter(({ origin }) => !passedOver?.has(origin));
    let failure: unknown = new ReadingError('content-host-unreachable', 'the site has no other content host');
    for (const [index, host] of hosts.entries()) {
      if (this.#isOver) throw new ReadingError('content-host-unreachable', 'nothing more is wanted');
      const attempt = this.attempt(host, index === hosts.length - 1);
      this.#attempts.add(attempt);
      try {
        const result = await work(attempt);
        attempt.opened?.();
        return result;
      } catch (error) {
        if (!this.failed(attempt, error)) throw error;
        failure = index === 0 ? error : moreTelling(failure, error);
      }
    }
    throw failure;
  }

  failed(attempt: HostAttempt, error: unknown): boolean {
    this.#end(attempt);
    if (this.#isOver || faultOf(error) === undefined) return false;
    this.#failedHosts.add(attempt.origin);
    return true;
  }

  payload(reader: DocumentReader, from: PayloadBytes, end?: number): Payload {
    return new Payload(this, reader, from, end);
  }

  release(): void {
    for (const attempt of this.#attempts) this.#end(attempt);
  }

  /** Ends all attempts. What comes of ending a host's answer is no fault of the host. */
  end(): void {
    this.#isOver = true;
    this.release();
  }

  #end(attempt: HostAttempt): void {
    this.#attempts.delete(attempt);
    attempt.end();
  }
}
