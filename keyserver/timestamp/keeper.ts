/** Keeps the publication fresh while the key server runs: looks, signs, pushes, one at a time, and says what it cannot do. */
import type { Logger } from 'pino';
import { CodedError } from '../../core/errors.ts';
import { systemReason } from '../../node-support/system-error.ts';
import type { KeyServerState } from '../state.ts';
import { run } from '../storage/database.ts';
import { type Accepted, acceptHandOver, adoptTimestamp } from './accept.ts';
import type { Found, PushTarget } from './push-target.ts';
import { type SignOutcome, signAgain } from './sign.ts';
import { readPublication } from './state.ts';

export interface KeeperOptions {
  readonly state: KeyServerState;
  readonly log: Logger;
  readonly targets: readonly PushTarget[];
  /** Between two timestamps. */
  readonly resignMinutes: number;
  /** For which a timestamp is good. */
  readonly freshHours: number;
}

/** `failed`: nothing was signed, and the log says why. */
export type KeeperOutcome = SignOutcome | 'failed';

const MINUTE = 60_000;
/** Minutes until the next attempt where one has failed. */
const RETRY_MINUTES = 5;

export class TimestampKeeper {
  readonly #options: KeeperOptions;
  /** Ends when nothing is under way any more. */
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** Begins at once: after a stop of some hours the timestamp may be about to expire. */
  start(): void {
    void this.attempt().then((outcome) => this.#schedule(outcome));
  }

  /** Lets what is under way end. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#last;
    for (const target of this.#options.targets) target.close();
  }

  /** Ends when what is under way has ended. */
  async idle(): Promise<void> {
    await this.#last;
  }

  /**
   * Takes a publication from its publisher, and brings its timestamp to the targets after the answer.
   *
   * @throws PublicationError, KeyServerError as `acceptHandOver`
   */
  async accept(bytes: Uint8Array): Promise<Accepted> {
    const accepted = acceptHandOver(this.#options.state, bytes);
    // An hourly run may just have put the one before there.
    void this.#inTurn(async () => this.#push(await this.#look()));
    return accepted;
  }

  /** One run: adopts what is newer at the targets, signs, pushes. Never throws: what goes wrong is in the log and in the metrics. */
  attempt(): Promise<KeeperOutcome> {
    return this.#inTurn(async () => {
      const lying = await this.#look();
      const outcome = await this.#sign();
      // A withdrawal, and a timestamp of the publisher's own, have to get there as well.
      if (outcome !== 'nothing' && outcome !== 'failed') await this.#push(lying);
      return outcome;
    }).catch((error: unknown) => {
      this.#options.log.error({ reason: reasonFor(error) }, 'the timestamp could not be looked after');
      return 'failed' as const;
    });
  }

  #schedule(last: KeeperOutcome): void {
    if (this.#stopped) return;
    const { resignMinutes } = this.#options;
    const minutes = last === 'failed' ? Math.min(resignMinutes, RETRY_MINUTES) : resignMinutes;
    this.#timer = setTimeout(() => this.start(), minutes * MINUTE);
    this.#timer.unref();
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const next = this.#last.then(work);
    this.#last = next.catch(() => {});
    return next;
  }

  /** Adopts what is newer. Returns what lies where: only where that is known, something may take its place. */
  async #look(): Promise<Map<PushTarget, Found>> {
    const { state, targets, log } = this.#options;
    const lying = new Map<PushTarget, Found>();
    for (const [index, target] of targets.entries()) {
      try {
        const found = await target.read();
        if (found.bytes && adoptTimestamp(state, found.bytes))
          log.info({ target: index + 1 }, 'a newer timestamp was adopted');
        lying.set(target, found);
      } catch (error) {
        this.#note(target, 'failed');
        log.error({ target: index + 1, reason: reasonFor(error) }, 'nothing can be pushed over what lies at a target');
      }
    }
    return lying;
  }

  async #sign(): Promise<KeeperOutcome> {
    const { state, log, freshHours } = this.#options;
    try {
      const outcome = await signAgain(state, freshHours * 3600);
      if (outcome === 'withdrawn') {
        const version = readPublication(state.database)?.snapshot;
        log.error(
          { publication: version },
          'the publication is withdrawn: no timestamp is signed until there is a higher version',
        );
      }
      if (outcome === 'signed') log.info('the timestamp was signed again');
      return outcome;
    } catch (error) {
      log.error({ reason: reasonFor(error) }, 'the timestamp was not signed');
      return 'failed';
    }
  }

  async #push(lying: ReadonlyMap<PushTarget, Found>): Promise<void> {
    const { state, targets, log } = this.#options;
    const publication = readPublication(state.database);
    if (!publication) return;
    for (const [target, found] of lying) {
      try {
        await target.write(publication.timestamp, found);
        this.#note(target, 'succeeded');
      } catch (error) {
        this.#note(target, 'failed');
        const place = { target: targets.indexOf(target) + 1, reason: reasonFor(error) };
        log.error(place, 'the timestamp could not be pushed');
      }
    }
  }

  #note({ name }: PushTarget, column: 'succeeded' | 'failed'): void {
    const { database, now } = this.#options.state;
    const sql = `INSERT INTO pushes (target, ${column}) VALUES (?, ?) ON CONFLICT (target) DO UPDATE SET ${column} = excluded.${column}`;
    run(database, sql, name, now());
  }
}

/** A code where there is one; of the system the few words, without paths and addresses. */
function reasonFor(error: unknown): string {
  return error instanceof CodedError ? `${error.code}: ${error.message}` : systemReason(error);
}
