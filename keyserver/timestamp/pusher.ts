/** Brings the timestamp to one target that has its publication, and takes over what is newer there. One visit follows another; none waits for another target. */
import type { Logger } from 'pino';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { CodedError } from '../../core/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata } from '../../core/publication/metadata.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { UnderWay } from '../../node-support/within-time.ts';
import { KeyServerError } from '../errors.ts';
import type { KeyServerState } from '../state.ts';
import { run } from '../storage/database.ts';
import { adoptTimestamp } from './adopt.ts';
import type { Found, PushTarget } from './push-target.ts';
import { hidesWithdrawal, ifGood, newestRoot, nextRootIfGood, type Publication, readPublication } from './state.ts';

export interface PusherOptions {
  readonly state: KeyServerState;
  readonly log: Logger;
  readonly target: PushTarget;
  /** Of the target in the configuration, from 1: how log and metrics name it. */
  readonly number: number;
  /** Called when something may have been learned that no run knows of. @param isAdopted - whether there is another timestamp by that */
  readonly onLearned: (isAdopted: boolean) => void;
  /** Milliseconds, each, to read what lies there, and to look for the publication and put something in its place. */
  readonly patience: number;
}

/** What a look has shown. */
export interface Look {
  readonly found: Found;
  /** Whether the timestamp that counts is the one that was found. */
  readonly isAdopted: boolean;
  /** Visits of ours that were over before it: a later one has changed what lies there. */
  readonly visits: number;
}

export class Pusher {
  readonly #options: PusherOptions;
  readonly #underWay = new UnderWay();
  #last: Promise<void> = Promise.resolve();
  #visits = 0;
  #isAwaited = false;
  #isClosed = false;

  constructor(options: PusherOptions) {
    this.#options = options;
  }

  /** Takes over what is newer there, whatever else is under way. @returns `undefined` where it is not known what lies there */
  async look(): Promise<Look | undefined> {
    const visits = this.#visits;
    const { found, isAdopted } = await this.#look();
    return found && { found, isAdopted, visits };
  }

  /** Puts the timestamp that is known then in the place of what was seen there. */
  replace({ found, visits }: Look): void {
    this.#visit(async () => (visits === this.#visits ? found : this.#lookAgain()));
  }

  /** Looks, and puts the timestamp that is known then there. A visit that has not begun serves all who ask. */
  bring(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    this.#visit(async () => {
      this.#isAwaited = false;
      return this.#lookAgain();
    });
  }

  /** Ends when what was asked for has ended. */
  get last(): Promise<void> {
    return this.#last;
  }

  /** Gives up what is under way. */
  close(): void {
    this.#isClosed = true;
    this.#underWay.end();
    this.#options.target.close();
  }

  #visit(find: () => Promise<Found | undefined>): void {
    const visit = async () => {
      const found = await find();
      if (found) await this.#push(found);
    };
    this.#last = this.#last
      .then(visit)
      .catch((error: unknown) => this.#failed(error, NOT_PUSHED)) // a database that cannot be read, once
      .then(() => {
        this.#visits++;
      });
  }

  /** Beside a run. */
  async #lookAgain(): Promise<Found | undefined> {
    const { found, isAdopted } = await this.#look();
    this.#options.onLearned(isAdopted);
    return found;
  }

  async #look(): Promise<{ readonly found: Found | undefined; readonly isAdopted: boolean }> {
    const { state, target, number, patience, log } = this.#options;
    try {
      const found = await this.#underWay.within(patience, () => target.read());
      const isAdopted = found.bytes !== undefined && adoptTimestamp(state, found.bytes);
      if (isAdopted) log.info({ target: number }, 'a newer timestamp was adopted');
      return { found, isAdopted };
    } catch (error) {
      this.#failed(error, 'nothing can be pushed over what lies at a target');
      return { found: undefined, isAdopted: false };
    }
  }

  /** @param isAgain - somebody was quicker once: what they have put there is looked at, too */
  async #push(found: Found, isAgain = false): Promise<void> {
    const { state, patience } = this.#options;
    try {
      const publication = readPublication(state.database);
      const root = newestRoot(state.database);
      if (!publication || !root || hidesWithdrawal(publication, root)) return; // what says that it is withdrawn comes first
      const isPut = await this.#underWay.within(patience, (signal) => this.#write(publication, root, found, signal));
      if (isPut) this.#note('succeeded');
    } catch (error) {
      const wasChanged = error instanceof StorageError && error.code === 'target-changed';
      const now = wasChanged && !isAgain ? await this.#lookAgain() : undefined;
      if (now) return this.#push(now, true);
      this.#failed(error, NOT_PUSHED);
    }
  }

  /**
   * Never where the publication is not: it may have been published elsewhere, or be on its way, and readers would find nothing in the place of
   * the publication before. Nor where another timestamp counts by now: whoever brought that has it pushed as well.
   *
   * @returns whether it was put
   */
  async #write(
    { timestamp, snapshot }: Publication,
    root: RootMetadata,
    found: Found,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { target } = this.#options;
    if (!(await target.holds(snapshot)))
      throw new KeyServerError(
        'publication-not-there',
        `publication ${snapshot} is not there yet, so what is there stays`,
      );
    const newest = await this.#newestRootThere(root);
    if (newest !== root && !ifGood(timestamp, newest))
      throw new KeyServerError(
        'root-behind',
        `root ${newest.version} lies there, which was not handed over, and by which the timestamp here is not good: what is there stays`,
      );
    signal.throwIfAborted(); // an answer that comes too late is none
    if (!this.#isStillShown(timestamp, root)) return false;
    await target.write(timestamp, found);
    return true;
  }

  #isStillShown(timestamp: Uint8Array, root: RootMetadata): boolean {
    const known = readPublication(this.#options.state.database);
    return known !== undefined && equalBytes(known.timestamp, timestamp) && !hidesWithdrawal(known, root);
  }

  /** As readers follow them, to whom nothing else counts: keys may have been replaced without a hand-over, or the database is an old copy. */
  async #newestRootThere(known: RootMetadata): Promise<RootMetadata> {
    let root = known;
    for (let further = 0; further < PUBLICATION_LIMITS.rootRotations; further++) {
      const bytes = await this.#options.target.readRoot(root.version + 1);
      const next = bytes && nextRootIfGood(bytes, root);
      if (!next) break;
      root = next;
    }
    return root;
  }

  /** What is given up at the end has not failed; the database may be closed by then. */
  #failed(error: unknown, message: string): void {
    if (this.#isClosed) return;
    const { log, number } = this.#options;
    log.error({ target: number, reason: reasonFor(error) }, message);
    try {
      this.#note('failed');
    } catch (failure) {
      log.error({ target: number, reason: reasonFor(failure) }, 'that it failed could not be noted');
    }
  }

  #note(column: 'succeeded' | 'failed'): void {
    const { state, target } = this.#options;
    const sql = `INSERT INTO pushes (target, ${column}) VALUES (?, ?) ON CONFLICT (target) DO UPDATE SET ${column} = excluded.${column}`;
    run(state.database, sql, target.name, state.now());
  }
}

const NOT_PUSHED = 'the timestamp could not be pushed';

/** A code where there is one; of the system the few words, without paths and addresses. */
export function reasonFor(error: unknown): string {
  return error instanceof CodedError ? `${error.code}: ${error.message}` : systemReason(error);
}
