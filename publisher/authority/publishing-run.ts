/** Holds a site at its key server while one copy of the workspace publishes it. */
import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { utcMinute } from '../../node-support/clock.ts';
import { userName } from '../../node-support/user-name.ts';
import { PublishError } from '../errors.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { type KeyServerAccess, putRun, type RunInTheWay, releaseRun } from './key-server.ts';

/** Milliseconds: the key server forgets a run that has not asked again for two minutes. */
const RENEWAL = 40_000;
const FAREWELL = { request: 5000, sending: 4 };

/**
 * Does `work`, which takes the lock of the workspace, while no other copy of the workspace publishes the site. If the key server does not
 * answer, nobody is kept out: the key server refuses the publication at the hand-over if another was made meanwhile.
 *
 * @param name - of the run: {@link runIn}
 * @throws PublishError `publishing-elsewhere`, `key-server-refused`; whatever `work` throws
 */
export async function whileHolding<Result>(
  access: KeyServerAccess | undefined,
  name: string,
  work: () => Promise<Result>,
): Promise<Result> {
  if (access === undefined) return work();
  // Names are for other people's eyes. In a container, a user may have no name.
  const from = `${userName() ?? `user ${process.getuid?.()}`}@${hostname()}`.slice(0, 100);
  const run = { run: name, from };
  const other = await putRun(access, run);
  if (other) throw elsewhere(other);
  const timer = setInterval(() => putRun(access, run).catch(() => {}), RENEWAL);
  let isHeldByAnother = false;
  try {
    return await work();
  } catch (error) {
    isHeldByAnother = error instanceof PublishError && error.code === 'store-busy';
    throw error;
  } finally {
    clearInterval(timer);
    const release = () => releaseRun({ ...access, limits: FAREWELL, signal: undefined }, run.run);
    if (!isHeldByAnother) await release().catch(() => {}); // a run ends by itself
  }
}

/** Names all runs in this workspace, which its lock keeps apart: a run that was killed is gone on with at once. A copy elsewhere has another name. */
export function runIn({ directory }: Pick<Workspace, 'directory'>, index: PublisherIndex): string {
  const id = index.fact('run') ?? randomBytes(16).toString('base64url');
  index.setFact('run', id);
  const digest = createHash('sha256').update(`${id}\n${hostname()}\n${directory}`).digest();
  return digest.subarray(0, 16).toString('base64url');
}

function elsewhere({ by, from, since }: RunInTheWay): PublishError {
  const message = `${by} publishes this site, from ${from}, since ${utcMinute(since)}`;
  return new PublishError('publishing-elsewhere', message);
}
