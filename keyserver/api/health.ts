/** Health: tells load balancers whether this key server can answer, and monitoring what will hurt readers soon: docs/operations.md. */
import type { Express } from 'express';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { noStore } from '../http/app.ts';
import { readPublication } from '../publication/stored.ts';
import { type DatabaseProblem, probeDatabase } from '../storage/probe.ts';
import type { KeyServerState } from '../storage/state.ts';

/** Seconds for which a push target may fail. */
const PUSH_PATIENCE = 3 * 3600;

type Problem = DatabaseProblem | 'clock' | 'publication' | 'push';

/**
 * `/healthz`: 200 where the database answers and takes writes. `/readyz`: 200 where, besides, nothing will hurt readers soon. A publication that is
 * not fresh is so at all key servers at once, and readers still get keys: a load balancer asks `/healthz`.
 *
 * @param interval - seconds between two timestamps
 */
export function addHealthRoutes(app: Express, state: KeyServerState, interval: number): void {
  app.get('/healthz', noStore, async (_request, response) => {
    const problem = await probeDatabase(state);
    response.status(problem ? 503 : 200).json({ problems: problem ? [problem] : [] });
  });
  app.get('/readyz', noStore, async (_request, response) => {
    const problem = await probeDatabase(state);
    const problems: Problem[] = problem ? [problem] : await problemsSoon(state, interval).catch(() => ['database']);
    response.status(problems.length > 0 ? 503 : 200).json({ problems });
  });
}

async function problemsSoon({ database, now }: KeyServerState, interval: number): Promise<Problem[]> {
  const known = await readPublication(database);
  if (!known) return [];
  const { version, expires } = known;
  // Half of what is left just before a timestamp is signed: alerts.yml has the same rule.
  const isStale = expires - now() < (expires - version - interval) / 2;
  const sql = 'SELECT 1 FROM pushes WHERE failed > coalesce(succeeded, 0) AND coalesce(succeeded, 0) < ?';
  const isPushLate = await database.first(sql, now() - PUSH_PATIENCE);
  return [
    ...(now() < version - PUBLICATION_LIMITS.clockTolerance ? (['clock'] as const) : []),
    ...(isStale ? (['publication'] as const) : []),
    ...(isPushLate ? (['push'] as const) : []),
  ];
}
