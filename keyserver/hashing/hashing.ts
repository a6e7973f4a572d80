/** Hashing of passwords, by this process alone, or by the key servers of a cluster together (docs/cluster.md, "Password hashing"). */
import type { Argon2idCost } from '../../node-support/argon2id.ts';
import { KeyServerError } from '../errors.ts';
import { FairQueue, type QueueBounds } from './fair-queue.ts';
import { type HashingWork, hashOnThread } from './threads.ts';

/** Counts since the start: works of this key server done here without a dispatcher, done by the dispatcher, and refused; and works done for it. */
export type HashingCounts = Readonly<Record<'local' | 'dispatched' | 'refused' | 'for-dispatcher', number>>;

export interface Hashing {
  /** Does a work in the turn of its address. @throws KeyServerError `busy` */
  readonly hash: (address: string, work: HashingWork) => Promise<Uint8Array>;
  readonly counts: () => HashingCounts;
  /** Number of other key servers connected, at the dispatcher. At another: 1, or 0 where it is lost. `undefined`: there is none. */
  readonly connected: () => number | undefined;
  readonly close: () => Promise<void>;
}

/** Hashing cannot exhaust the machine, and those who do much of it keep others waiting least. */
export const BOUNDS: QueueBounds = { waitingPerAddress: 16, waitingPerSlot: 128 };
/** Works at a time without a dispatcher. */
const LOCALLY = 2;

/** Costs between which a stored hash is computed. */
const LOWEST: Argon2idCost = { memory: 8192, passes: 1, parallelism: 1 };
const HIGHEST: Argon2idCost = { memory: 262_144, passes: 10, parallelism: 4 };

/** Tells whether a cost that comes from a database or another machine may be computed with. */
export function isAllowedCost(cost: Argon2idCost): boolean {
  const names = ['memory', 'passes', 'parallelism'] as const;
  return names.every((name) => cost[name] >= LOWEST[name] && cost[name] <= HIGHEST[name]);
}

/** Counts what becomes of works. */
export class Tally {
  readonly counts = { local: 0, dispatched: 0, refused: 0, 'for-dispatcher': 0 };

  async of<Result>(what: keyof HashingCounts, work: Promise<Result>): Promise<Result> {
    try {
      const result = await work;
      this.counts[what]++;
      return result;
    } catch (error) {
      if (error instanceof KeyServerError) this.counts.refused++;
      throw error;
    }
  }
}

/** Hashes in this process. */
export function localHashing(): Hashing {
  const queue = new FairQueue(BOUNDS, Array.from({ length: LOCALLY }, Symbol));
  const tally = new Tally();
  return {
    hash: (address, work) => {
      const done = queue.run(address, () => hashOnThread(work));
      return tally.of('local', done);
    },
    counts: () => tally.counts,
    connected: () => undefined,
    close: async () => undefined,
  };
}
