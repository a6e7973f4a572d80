/** Probe of the database, by a write: a full disk refuses every reader, though what is there can still be read. */
import { isDiskFull } from '../../node-support/disk-full.ts';
import { withinTime } from '../../node-support/within-time.ts';
import type { KeyServerState } from './state.ts';

/** Milliseconds that the database may take to answer; for which a write need not be repeated; and which one may wait for another process. */
const [TIMEOUT, GOOD, WAIT] = [3000, 2000, 60_000];

export type DatabaseProblem = 'database' | 'disk-full';

/** Last write of a database, and how it ended; `undefined`: it waits, as another process may be storing a long list. */
interface Write {
  readonly begun: number;
  readonly done: Promise<void>;
  problem: DatabaseProblem | 'none' | undefined;
}

const writes = new WeakMap<object, Write>();

/** Reads, and writes a row unless that was done a moment ago. @returns what is wrong, if anything is */
export async function probeDatabase(state: KeyServerState): Promise<DatabaseProblem | undefined> {
  try {
    await withinTime(TIMEOUT, () => state.database.first('SELECT 1'));
  } catch {
    return 'database';
  }
  const write = writeOf(state);
  await withinTime(TIMEOUT, () => write.done).catch(() => undefined);
  if (write.problem === undefined) return performance.now() - write.begun > WAIT ? 'database' : undefined;
  return write.problem === 'none' ? undefined : write.problem;
}

/** The write that is under way, or was good a moment ago; else a new one. */
function writeOf({ database, now }: KeyServerState): Write {
  const last = writes.get(database);
  const isGood = last?.problem === 'none' && performance.now() - last.begun < GOOD;
  if (last && (isGood || last.problem === undefined)) return last;
  const sql = 'INSERT INTO probe (id, time) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET time = excluded.time';
  const done = database.run(sql, now()).then(
    () => {
      write.problem = 'none';
    },
    (error: unknown) => {
      write.problem = isDiskFull(error) ? 'disk-full' : 'database';
    },
  );
  const write: Write = { begun: performance.now(), done, problem: undefined };
  writes.set(database, write);
  return write;
}
