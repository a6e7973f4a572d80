/** Probe of the database, by a write: a full disk refuses every reader, though what is there can still be read. */
import { isDiskFull } from '../../node-support/disk-full.ts';
import { OutOfTime, withinTime } from '../../node-support/within-time.ts';
import type { Database } from './database.ts';
import type { KeyServerState } from './state.ts';

/** Milliseconds that the database may take, and for which an answer is good. */
const [TIMEOUT, GOOD] = [3000, 2000];

export type DatabaseProblem = 'database' | 'disk-full';

const probes = new WeakMap<object, { readonly time: number; readonly problem: Promise<DatabaseProblem | undefined> }>();

/** Tells a database that another process writes to, as for a long list, from one that does not answer. */
async function isBusy(error: unknown, database: Database): Promise<'database' | undefined> {
  if (!(error instanceof OutOfTime)) return 'database';
  const answers = withinTime(TIMEOUT, () => database.first('SELECT 1'));
  return answers.then(
    () => undefined,
    () => 'database' as const,
  );
}

/** Writes a row, unless that was done a moment ago. @returns what is wrong, if anything is */
export function probeDatabase({ database, now }: KeyServerState): Promise<DatabaseProblem | undefined> {
  const last = probes.get(database);
  if (last && performance.now() - last.time < GOOD) return last.problem;
  const sql = 'INSERT INTO probe (id, time) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET time = excluded.time';
  const problem = withinTime(TIMEOUT, () => database.run(sql, now())).then(
    () => undefined,
    (error: unknown) => (isDiskFull(error) ? 'disk-full' : isBusy(error, database)),
  );
  probes.set(database, { time: performance.now(), problem });
  return problem;
}
