/** Keeps the publication fresh while the key server runs: looks, signs, has it pushed, and says what it cannot do. */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { withinTime } from '../../node-support/within-time.ts';
import type { KeyServerState } from '../state.ts';
import { type Accepted, acceptHandOver } from './accept.ts';
import type { PushTarget } from './push-target.ts';
import { Pusher, reasonFor } from './pusher.ts';
import { canSign, type SignOutcome, signAgain } from './sign.ts';
import { isUnsaid, isWithdrawn, newestRoot, type Publication, readPublication } from './state.ts';

export interface KeeperOptions {
  readonly state: KeyServerState;
  readonly log: Logger;
  readonly targets: readonly PushTarget[];
  /** Between two timestamps. */
  readonly resignMinutes: number;
  /** For which a timestamp is good. */
  readonly freshHours: number;
  /** Left out but in tests. */
  readonly limits?: KeeperLimits;
}

/** Milliseconds. */
export interface KeeperLimits {
  /** To read what lies at a target, and to put something there. Signing waits so long for all together. */
  readonly patience: number;
  /** For what is under way when the key server stops. */
  readonly farewell: number;
}

const LIMITS: KeeperLimits = { patience: 60_000, farewell: 5000 };

/** `failed`: nothing was signed, and the log says why. */
export type KeeperOutcome = SignOutcome | 'failed';

const MINUTE = 60_000;
/** Minutes until the next attempt where one has failed. */
const RETRY_MINUTES = 5;
/** Each is overtaken only where something is learned meanwhile. */
const ATTEMPTS = 5;

export class TimestampKeeper {
  readonly #options: KeeperOptions;
  readonly #limits: KeeperLimits;
  readonly #pushers: readonly Pusher[];
  /** Ends when no run is under way any more. */
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  /** What a run was begun for, beside those that come by themselves. */
  #begunFor: Publication | undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
    const { state, log, targets, limits = LIMITS } = options;
    this.#limits = limits;
    const { patience } = limits;
    const onLearned = (isAdopted: boolean) => this.#learned(isAdopted);
    this.#pushers = targets.map(
      (target, index) => new Pusher({ state, log, target, number: index + 1, onLearned, patience }),
    );
  }

  /** Begins at once: after a stop of some hours the timestamp may be about to expire. */
  start(): void {
    void this.#confirm().then((outcome) => this.#schedule(outcome));
  }

  #learned(isAdopted: boolean): void {
    if (this.#stopped) return;
    if (isAdopted) this.#bring(); // no target was told of that
    this.#signUnsaid();
  }

  /** Begins at once where something was learned that readers are to know: after a hand-over, or while something was put at a target. */
  #signUnsaid(): void {
    const known = this.#unsaid();
    if (known === undefined || isDeepStrictEqual(known, this.#begunFor)) return;
    this.#begunFor = known;
    this.start();
  }

  /** What is known, where readers do not learn it by the timestamp. */
  #unsaid(): Publication | undefined {
    const { database } = this.#options.state;
    const [root, known] = [newestRoot(database), readPublication(database)];
    return root && known && isUnsaid(known, root) ? known : undefined;
  }

  /** Lets what is under way end, if it does soon. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await withinTime(this.#limits.farewell, () => this.idle()).catch(() => {});
    for (const pusher of this.#pushers) pusher.close();
    await this.idle();
  }

  /** Ends when what is under way has ended, at the targets too. */
  async idle(): Promise<void> {
    const underWay = () => [this.#last, ...this.#pushers.map(({ last }) => last)];
    // What is found at one target may be signed then, and brought to the others.
    for (let before: readonly unknown[] = []; underWay().some((last, index) => last !== before[index]); ) {
      const now = underWay();
      await Promise.all(now);
      before = now;
    }
  }

  /**
   * Takes a publication from its publisher, and brings its timestamp to the targets after the answer.
   *
   * @throws PublicationError, KeyServerError as `acceptHandOver`
   */
  async accept(bytes: Uint8Array): Promise<Accepted> {
    const { state } = this.#options;
    try {
      const accepted = acceptHandOver(state, bytes, await canSign(state));
      this.#bring();
      return accepted;
    } catch (error) {
      await this.#signBeforeAnswer();
      throw error;
    }
  }

  /** What is refused may have said what is withdrawn, and whoever is refused asks for what counts here. */
  async #signBeforeAnswer(): Promise<void> {
    for (let attempts = 0; attempts < ATTEMPTS && this.#unsaid() !== undefined; attempts++) {
      const outcome = await this.#sign();
      this.#bring();
      if (outcome !== 'overtaken') return;
    }
  }

  #bring(): void {
    for (const pusher of this.#pushers) pusher.bring();
  }

  /** One run, to its end at the targets. Never throws: what goes wrong is in the log and in the metrics. */
  async attempt(): Promise<KeeperOutcome> {
    const outcome = await this.#confirm();
    await this.idle();
    return outcome;
  }

  /** Adopts what is newer at the targets, signs, and has it pushed: signing waits for what they say, but for none longer than its time. */
  #confirm(): Promise<KeeperOutcome> {
    return this.#inTurn(async () => {
      const looks = await Promise.all(this.#pushers.map((pusher) => pusher.look()));
      const outcome = await this.#sign();
      const { state } = this.#options;
      const known = readPublication(state.database);
      const isNews = looks.some((look) => look?.isAdopted);
      if (known === undefined || (outcome === 'failed' && !isNews && !isWithdrawn(known))) return outcome;
      // A withdrawal, and a timestamp of the publisher's own, have to get there as well. Only where that is known, something may take its place.
      for (const [index, look] of looks.entries()) if (look) this.#pushers[index]?.replace(look);
      return outcome;
    }).catch((error: unknown) => {
      this.#options.log.error({ reason: reasonFor(error) }, 'the timestamp could not be looked after');
      return 'failed' as const;
    });
  }

  #schedule(last: KeeperOutcome): void {
    if (this.#stopped) return;
    const { resignMinutes } = this.#options;
    const minutes = last === 'failed' || last === 'overtaken' ? Math.min(resignMinutes, RETRY_MINUTES) : resignMinutes;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.start(), minutes * MINUTE);
    this.#timer.unref();
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const next = this.#last.then(work);
    this.#last = next.catch(() => {});
    return next;
  }

  async #sign(): Promise<KeeperOutcome> {
    const { state, log, freshHours } = this.#options;
    try {
      const outcome = await signAgain(state, freshHours * 3600);
      if (outcome === 'signed') log.info('the timestamp was signed again');
      return outcome;
    } catch (error) {
      log.error({ reason: reasonFor(error) }, 'the timestamp was not signed');
      return 'failed';
    } finally {
      this.#sayWithdrawn();
    }
  }

  #sayWithdrawn(): void {
    const { state, log } = this.#options;
    const known = readPublication(state.database);
    if (known === undefined || !isWithdrawn(known)) return;
    const what = 'the publication is withdrawn: nothing confirms it until there is a higher version';
    log.error({ publication: known.snapshot }, what);
  }
}
