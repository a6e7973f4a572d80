/** What was withdrawn is not published by itself, in the place of what readers have. */
import { PublicationError } from '../../core/publication/errors.ts';
import type { SignedTimestamp } from '../../core/publication/metadata.ts';
import { withdrawsItself } from '../../core/publication/withdrawals.ts';
import { readLastPublished } from '../last-published.ts';
import type { OpenedPublication } from '../publication/open.ts';
import type { Workspace } from '../workspace.ts';

/**
 * Where it was published here before it was withdrawn, or the target shows it, all is brought that says so: readers have nothing to lose by that.
 *
 * @param there - what the target shows
 * @throws PublicationError `publication-withdrawn`; PublishError `key-store-damaged`
 */
export async function checkNotWithdrawn(
  workspace: Workspace,
  { state }: OpenedPublication,
  there: SignedTimestamp | undefined,
): Promise<void> {
  const { version } = state.snapshot;
  const { withdrawn, publication } = await readLastPublished(workspace);
  const isSaid = withdrawsItself(state.timestamp);
  if (!isSaid && !withdrawn.includes(version)) return;
  const isInItsPlace = there !== undefined && there.snapshot.version < version && !withdrawsItself(there);
  if (isSaid && !(isInItsPlace && publication?.version !== version)) return;
  const readers = isInItsPlace ? `; readers have publication ${there.snapshot.version}` : '';
  throw new PublicationError('publication-withdrawn', `publication ${version} was withdrawn here${readers}`, {
    hint: `change what was wrong, and publish that, protected anew; where somebody has publication ${version} all the same, "wispr withdraw ${version}" ends that`,
  });
}
