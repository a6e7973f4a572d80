/** Probe of the database, by a write: a full disk refuses every reader, though what is there can still be read. */
import { isDiskFull } from '../../node-support/disk-full.ts';
import { OutOfTime, withinTime } from '../../node-support/within-time.ts';
import type { KeyServerState } from './state.ts';

/** Milliseconds that the database may take, and for which a write need not be repeated. */
const [TIMEOUT, GOOD] = [3000, 2000];

export type DatabaseProblem = 'database' | 'disk-full';

/** Times of the last write that succeeded, by database. */
const written = new WeakMap<object, number>();

/** Reads, and writes a row unless that was done a moment ago. @returns what is wrong, if anything is */
export async function probeDatabase({ database, now }: KeyServerState): Promise<DatabaseProblem | undefined> {
  try {
    await withinTime(TIMEOUT, () => database.first('SELECT 1'));
    if (performance.now() - (written.get(database) ?? Number.NEGATIVE_INFINITY) < GOOD) return undefined;
    const sql = 'INSERT INTO probe (id, time) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET time = excluded.time';
    // A write that waits is no fault: another process may be storing a long list.
    await withinTime(TIMEOUT, () => database.run(sql, now())).catch((error: unknown) => {
      if (!(error instanceof OutOfTime)) throw error;
    });
    written.set(database, performance.now());
    return undefined;
  } catch (error) {
    return isDiskFull(error) ? 'disk-full' : 'database';
  }
}
