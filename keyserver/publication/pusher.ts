/** Puts the timestamp at one target (docs/spec/publication.md, R4), and adopts a greater pair that lies there (R5). No target waits for another. */
import type { Logger } from 'pino';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { CodedError } from '../../core/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata, TimestampMetadata } from '../../core/publication/metadata.ts';
import { checkNotFuture, verifySnapshot } from '../../core/publication/verify-roles.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { withinTime } from '../../node-support/within-time.ts';
import { KeyServerError } from '../errors.ts';
import type { KeyServerState } from '../storage/state.ts';
import { adopt, exceeds } from './authority.ts';
import type { PushTarget, StoredTimestamp } from './push-target.ts';
import { goodNextRoot, goodTimestamp, isWithdrawn, readCurrent, readPublication, STRICT } from './stored.ts';

export interface PusherOptions {
  readonly state: KeyServerState;
  readonly log: Logger;
  readonly target: PushTarget;
  /** Number of the target in the configuration, from 1: log and metrics name it so. */
  readonly number: number;
  readonly freshSeconds: number;
  /** Milliseconds for one inspection, and for one push. */
  readonly patience: number;
  /** Called when the target had a greater pair, which the other targets need as well. */
  readonly onAdopted: () => void;
}

interface TargetState {
  readonly found: StoredTimestamp;
  /** The newest root there, as readers of that host follow them. */
  readonly root: RootMetadata;
}

/** Times that a target is looked at again in one push because another program has changed it meanwhile. */
const ATTEMPTS = 3;
/** Seconds that a publisher may take to bring what was handed over. */
const ON_ITS_WAY = 900;

export class Pusher {
  readonly #options: PusherOptions;
  readonly #closing = new AbortController();
  #last: Promise<unknown> = Promise.resolve();
  #pending = 0;
  #isQueued = false;
  #closedAt: string | undefined;

  constructor(options: PusherOptions) {
    this.#options = options;
  }

  /** Adopts a greater pair there. Never throws: what goes wrong, the next push reports. */
  inspect(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#inspect().catch(() => {});
    });
  }

  /** Puts the current timestamp there, in the background. A push that has not begun serves all callers. */
  push(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    void this.#inTurn(() => {
      this.#isQueued = false;
      return this.#push();
    });
  }

  get isPending(): boolean {
    return this.#pending > 0;
  }

  /** Resolves when what was queued last is done. */
  get last(): Promise<unknown> {
    return this.#last;
  }

  close(): void {
    this.#closing.abort(new Error('it was closed'));
    this.#options.target.close();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#pending++;
    const next = this.#last
      .then(work)
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#pending--;
      });
    this.#last = next;
    return next;
  }

  async #push(): Promise<void> {
    const { patience } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const state = await this.#inspect();
      try {
        if (state) await withinTime(patience, (signal) => this.#replace(state, signal), this.#closing.signal);
        return;
      } catch (error) {
        const wasChanged = error instanceof StorageError && error.code === 'target-changed';
        if (!wasChanged || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** @returns `undefined` before there is a publication */
  async #inspect(): Promise<TargetState | undefined> {
    const { state, patience } = this.#options;
    const inspect = async () => {
      const current = await readCurrent(state.database);
      if (!current) return undefined;
      const found = await this.#options.target.read();
      const { root, further } = await this.#rootsThere(current.root);
      const timestamp = found.bytes && (await goodTimestamp(found.bytes, root));
      if (found.bytes && timestamp) {
        checkNotFuture(timestamp, state.now(), STRICT);
        if (await exceeds(timestamp, current.publication, root))
          await this.#adopt(found.bytes, timestamp, root, further);
      }
      return { found, root };
    };
    return withinTime(patience, inspect, this.#closing.signal);
  }

  async #adopt(bytes: Uint8Array, timestamp: TimestampMetadata, root: RootMetadata, furtherRoots: Uint8Array[]) {
    const { state, log, number, target, freshSeconds, onAdopted } = this.#options;
    const { version } = timestamp.snapshot;
    const snapshot = await target.readRole('snapshot', version);
    if (snapshot === undefined) throw notThere(version);
    await verifySnapshot(snapshot, root, timestamp.snapshot, STRICT);
    if (!(await adopt(state, { furtherRoots, timestamp: bytes, snapshot }, freshSeconds))) return;
    log.info({ target: number }, 'a greater publication was adopted from a target');
    onAdopted();
  }

  /** Follows the roots there as readers do: keys may have been replaced without a hand-over, or the database here is an old copy. */
  async #rootsThere(known: RootMetadata): Promise<{ readonly root: RootMetadata; readonly further: Uint8Array[] }> {
    const further: Uint8Array[] = [];
    let root = known;
    while (further.length < PUBLICATION_LIMITS.rootRotations) {
      const bytes = await this.#options.target.readRole('root', root.version + 1);
      const next = bytes && (await goodNextRoot(bytes, root));
      if (!bytes || !next) break;
      further.push(bytes);
      root = next;
    }
    return { root, further };
  }

  /** Puts the current timestamp in the place of what was seen there, unless it lies there already. */
  async #replace({ found, root }: TargetState, signal: AbortSignal): Promise<void> {
    const { state, target, log, number } = this.#options;
    const current = await readCurrent(state.database);
    if (!current) return;
    const { publication, root: knownRoot } = current;
    const { timestamp, snapshot, snapshotVersion } = publication;
    if (found.bytes === undefined || !equalBytes(found.bytes, timestamp)) {
      const newest = root.version > knownRoot.version ? root : knownRoot;
      if (!(await goodTimestamp(timestamp, newest)))
        throw new KeyServerError('target-behind', `the timestamp here is not good under root ${newest.version} there`);
      if (!(await target.lengthOf('root', knownRoot.version))) throw notThere(snapshotVersion);
      if ((await target.lengthOf('snapshot', snapshotVersion)) !== snapshot.length) {
        if (!isWithdrawn(publication)) throw notThere(snapshotVersion);
        await target.uploadSnapshot(snapshotVersion, snapshot);
      }
      signal.throwIfAborted(); // an answer that comes too late does not count
      await target.write(timestamp, found);
    }
    await this.#record('succeeded');
    const closedAt = await target.closedAt();
    if (closedAt !== this.#closedAt && closedAt !== undefined)
      log.warn({ target: number, closedAt }, 'a web server cannot read the timestamp: other users are kept out');
    this.#closedAt = closedAt;
  }

  /** Logs a failure. What is given up when the server stops has not failed; the database may be closed by then. */
  async #failed(error: unknown): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const { log, number } = this.#options;
    try {
      const isBehind = error instanceof KeyServerError && error.code === 'target-behind';
      if (isBehind && (await this.#isNew()))
        return log.info({ target: number }, 'the target does not have the new publication yet');
      log.error({ target: number, reason: reasonFor(error) }, 'the timestamp could not be pushed');
      await this.#record('failed');
    } catch (failure) {
      log.error({ target: number, reason: reasonFor(failure) }, 'the failed push could not be recorded');
    }
  }

  /** Tells whether the publication may still be on its way to the target. */
  async #isNew(): Promise<boolean> {
    const { database, now } = this.#options.state;
    const known = await readPublication(database);
    return known !== undefined && now() - known.published < ON_ITS_WAY;
  }

  async #record(column: 'succeeded' | 'failed'): Promise<void> {
    const { state, target } = this.#options;
    const sql = `INSERT INTO pushes (target, ${column}) VALUES (?, ?) ON CONFLICT (target) DO UPDATE SET ${column} = excluded.${column}`;
    await state.database.run(sql, target.name, state.now());
  }
}

function notThere(publication: number): KeyServerError {
  return new KeyServerError('target-behind', `publication ${publication} is not there yet; nothing was replaced`);
}

/** A code where there is one; of the system a few words, without paths and addresses. */
export function reasonFor(error: unknown): string {
  return error instanceof CodedError ? `${error.code}: ${error.message}` : systemReason(error);
}
