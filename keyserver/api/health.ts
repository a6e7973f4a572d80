/** Whether this key server can answer, for load balancers, and whether readers are served well, for monitoring: docs/operations.md. */
import type { Express } from 'express';
import { withinTime } from '../../node-support/within-time.ts';
import { noStore } from '../http/app.ts';
import { readPublication } from '../publication/stored.ts';
import type { KeyServerState } from '../storage/state.ts';

/** Milliseconds that the database may take. */
const TIMEOUT = 3000;

/**
 * `/healthz`: 200 where the database answers. `/readyz`: 200 where, besides, the publication is fresh. A publication that is not fresh is so at all
 * key servers at once, and readers still get keys: a load balancer asks `/healthz`.
 */
export function addHealthRoutes(app: Express, state: KeyServerState): void {
  for (const path of ['/healthz', '/readyz'])
    app.get(path, noStore, async (_request, response) => {
      const problems = (await problemsOf(state)).filter((problem) => path === '/readyz' || problem === 'database');
      response.status(problems.length > 0 ? 503 : 200).json({ problems });
    });
}

async function problemsOf({ database, now }: KeyServerState): Promise<('database' | 'publication')[]> {
  try {
    const known = await withinTime(TIMEOUT, () => readPublication(database));
    return known && known.expires < now() ? ['publication'] : [];
  } catch {
    return ['database'];
  }
}
