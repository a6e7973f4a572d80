/** What was withdrawn is not published by itself, in the place of what readers have. */
import { PublicationError } from '../../core/publication/errors.ts';
import { withdrawsItself } from '../../core/publication/withdrawals.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { readLastPublished } from '../last-published.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { placeOf } from '../published-places.ts';
import type { Workspace } from '../workspace.ts';
import { timestampShown } from './overtaken.ts';

/**
 * Where it was published here before it was withdrawn, or the target shows it, all is brought that says so: readers have nothing to lose by that.
 * What was published last counts where the target shows nothing.
 *
 * @throws PublicationError `publication-withdrawn`; PublishError `key-store-damaged`; StorageError
 */
export async function checkNotWithdrawn(
  workspace: Workspace,
  target: Target,
  publication: OpenedPublication,
): Promise<void> {
  const { timestamp, snapshot } = publication.state;
  const { version } = snapshot;
  const last = await readLastPublished(workspace);
  const isSaid = withdrawsItself(timestamp);
  if (!isSaid && !last.withdrawn.includes(version)) return;
  const published = placeOf(last, target.name).publication?.version;
  const there = await timestampShown(target, publication);
  const shown = there?.snapshot.version ?? published ?? version;
  const isGood = there === undefined ? !last.withdrawn.includes(shown) : !withdrawsItself(there);
  const isInItsPlace = shown < version && isGood && published !== version;
  if (isSaid && !isInItsPlace) return;
  const readers = isInItsPlace ? `; readers have publication ${shown}` : '';
  throw new PublicationError('publication-withdrawn', `publication ${version} was withdrawn here${readers}`, {
    hint: `change what was wrong, and publish that, protected anew ("--rekey SET" makes another one of the same documents); where somebody has publication ${version} all the same, "wispr withdraw ${version}" ends that`,
  });
}

/**
 * Where the output itself is served, it shows what it says; it may have been put back from before it was withdrawn.
 *
 * @throws PublicationError `publication-withdrawn`; PublishError `key-store-damaged`
 */
export async function checkSaysWithdrawn(workspace: Workspace, { state }: OpenedPublication): Promise<void> {
  const { version } = state.snapshot;
  const { withdrawn } = await readLastPublished(workspace);
  if (!withdrawn.includes(version) || withdrawsItself(state.timestamp)) return;
  throw new PublicationError(
    'publication-withdrawn',
    `publication ${version} was withdrawn here, and what is in "out" does not say so`,
    {
      hint: `run "wispr withdraw ${version}" again: it says so there; then change what was wrong, and publish that`,
    },
  );
}
