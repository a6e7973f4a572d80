/** What is remembered after `wispr timestamp` and `wispr withdraw`. */
import { PublishError } from '../publisher/errors.ts';
import {
  readLastPublished,
  rememberFinished,
  rememberOut,
  rememberPublished,
  rememberSettled,
} from '../publisher/last-published.ts';
import type { NotOut } from '../publisher/publish/choose-publication.ts';
import type { TimestampRun } from '../publisher/timestamp/run.ts';
import type { SignedTimestamp } from '../publisher/timestamp/sign-timestamp.ts';
import { type Workspace, withLock } from '../publisher/workspace.ts';
import type { PublicationPlaces } from './publication-places.ts';

/**
 * From now on it is known to be wherever it is to be. That a key server which confirms the site was not told, for want of a token, is said to
 * whoever withdraws; to nobody where a timestamp is signed by cron.
 */
export async function rememberBrought(
  { workspace, target, token, configuration }: PublicationPlaces,
  { withdrawn, publication }: SignedTimestamp,
  { withdraw }: Pick<TimestampRun, 'withdraw'>,
): Promise<void> {
  const isWithAll = token !== undefined || configuration.timestampBy === 'publisher' || withdraw !== undefined;
  const { begun, unfinished } = await readLastPublished(workspace);
  if (begun.length + unfinished.length === 0) return;
  const remember = async () => {
    if (target) await rememberOut(workspace, publication, target.name);
    if (isWithAll) await rememberFinished(workspace, withdrawn);
  };
  try {
    await withLock(workspace, remember);
  } catch (error) {
    if (!(error instanceof PublishError && error.code === 'workspace-busy')) throw error; // it is named once more then
  }
}

/** Nothing that is made here brings it, if it was on its way; and there is nothing to finish, where nobody else can have it. */
export async function keepFromReaders(workspace: Workspace, version: number, notOut: NotOut): Promise<void> {
  await withLock(workspace, async () => {
    if (notOut.isBegun) await rememberPublished(workspace, { withdrawn: [version] });
    const { begun, publication } = await readLastPublished(workspace);
    const isElsewhere = begun.some((one) => one.version === version && one.target !== notOut.target);
    if (notOut.isSure && !isElsewhere && version > (publication?.version ?? 0))
      await rememberFinished(workspace, [version]);
  });
}

/** One of its targets has it, and another does not: that is no end of it. */
export async function rememberUnfinished(workspace: Workspace, version: number): Promise<void> {
  await withLock(workspace, async () => {
    const { unfinished } = await readLastPublished(workspace);
    await rememberPublished(workspace, { unfinished: [...unfinished, version] });
  });
}

/** It is withdrawn where it is: that it is not at these targets is the end of it there. */
export async function forgetMaybe(workspace: Workspace, version: number, targets: readonly string[]): Promise<void> {
  await withLock(workspace, async () => {
    for (const target of targets) await rememberSettled(workspace, version, target);
  });
}
