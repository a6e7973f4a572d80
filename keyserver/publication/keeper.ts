/** Keeps the publication fresh while the key server runs: looks at the push targets, signs again, pushes. */
import type { Logger } from 'pino';
import { withinTime } from '../../node-support/within-time.ts';
import { as } from '../storage/audit.ts';
import type { KeyServerState } from '../storage/state.ts';
import { acceptHandOver, confirmAgain, type HandOverOutcome } from './authority.ts';
import type { PushTarget } from './push-target.ts';
import { Pusher, reasonFor } from './pusher.ts';
import { isWithdrawn, readPublication } from './stored.ts';

export interface KeeperOptions {
  readonly state: KeyServerState;
  readonly log: Logger;
  readonly targets: readonly PushTarget[];
  readonly pushElsewhere?: (() => void) | undefined;
  /** Called where another publication may have become the current one. */
  readonly follow?: () => void;
  readonly resignMinutes: number;
  readonly freshHours: number;
  /** Left out but in tests. */
  readonly limits?: KeeperLimits;
}

/** Milliseconds. */
export interface KeeperLimits {
  /** Time for one look at a target, and for one push. */
  readonly patience: number;
  /** Time for what is pending when the key server stops. */
  readonly farewell: number;
}

const LIMITS: KeeperLimits = { patience: 60_000, farewell: 5000 };

const MINUTE = 60_000;
/** Minutes until the next attempt after a failed one. */
const RETRY_MINUTES = 5;

export class TimestampKeeper {
  readonly #options: KeeperOptions;
  readonly #farewell: number;
  readonly #freshSeconds: number;
  readonly #pushers: readonly Pusher[];
  #running: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: KeeperOptions) {
    this.#options = options;
    const { state, log, targets, freshHours, limits = LIMITS } = options;
    const { patience } = limits;
    this.#farewell = limits.farewell;
    this.#freshSeconds = freshHours * 3600;
    const common = { state, log, freshSeconds: this.#freshSeconds, patience, onAdopted: () => this.push() };
    this.#pushers = targets.map((target, index) => new Pusher({ ...common, target, number: index + 1 }));
  }

  /** Begins at once: after a stop of some hours the timestamp may be about to expire. */
  start(): void {
    this.#running = this.attempt().then((isGood) => this.#schedule(isGood));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await withinTime(this.#farewell, () => this.idle()).catch(() => {});
    for (const pusher of this.#pushers) pusher.close();
    await this.idle();
  }

  /** Resolves when nothing is pending, at the targets either. */
  async idle(): Promise<void> {
    await this.#running;
    while (this.#pushers.some(({ isPending }) => isPending)) await Promise.all(this.#pushers.map(({ last }) => last));
  }

  /**
   * Takes a publication from its publisher. Its timestamp is pushed after the answer.
   *
   * @param actor - who hands it over, for the audit trail
   * @throws as `acceptHandOver`
   */
  async accept(bytes: Uint8Array, actor = this.#options.state.actor): Promise<HandOverOutcome> {
    const accepted = await acceptHandOver(as(this.#options.state, actor), bytes, this.#freshSeconds);
    if (accepted.outcome === 'current') this.push();
    return accepted;
  }

  /**
   * Makes one run: looks at the targets first, so that a database that was put back from a copy confirms nothing old, then signs, then pushes
   * without waiting. Never throws: the log has what went wrong.
   *
   * @returns whether nothing failed but targets
   */
  async attempt(): Promise<boolean> {
    const { state, log } = this.#options;
    try {
      await Promise.all(this.#pushers.map((pusher) => pusher.inspect()));
      if (await confirmAgain(state, this.#freshSeconds)) log.info('the timestamp was signed again');
      await this.#reportWithdrawn();
      return true;
    } catch (error) {
      log.error({ reason: reasonFor(error) }, 'the timestamp was not signed');
      return false;
    } finally {
      this.push();
    }
  }

  /** Puts the timestamp at all targets, in the background. */
  push(): void {
    if (this.#stopped) return;
    this.#options.pushElsewhere?.();
    this.#options.follow?.();
    for (const pusher of this.#pushers) pusher.push();
  }

  #schedule(isGood: boolean): void {
    if (this.#stopped) return;
    const { resignMinutes } = this.#options;
    const minutes = isGood ? resignMinutes : Math.min(resignMinutes, RETRY_MINUTES);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.start(), minutes * MINUTE);
    this.#timer.unref();
  }

  async #reportWithdrawn(): Promise<void> {
    const { state, log } = this.#options;
    const known = await readPublication(state.database);
    if (known && isWithdrawn(known))
      log.warn({ publication: known.snapshotVersion }, 'the publication is withdrawn: readers are shown no document');
  }
}
