/** What is remembered after `wispr timestamp` and `wispr withdraw`: of each place for itself, as soon as it is known. */
import { PublishError } from '../publisher/errors.ts';
import { readLastPublished, rememberPublished } from '../publisher/last-published.ts';
import { type LastPublished, type Place, type Shown, withShown, withTold } from '../publisher/published-places.ts';
import type { SignedTimestamp } from '../publisher/timestamp/sign-timestamp.ts';
import { type Workspace, withLock } from '../publisher/workspace.ts';

/** Who has a timestamp now. */
export interface WhoHasIt {
  /** The place; `undefined` where that does not have it. */
  readonly place: Place | undefined;
  readonly keyServer: boolean;
}

/** From now on it is known to be there. */
export function rememberBrought(
  workspace: Workspace,
  { publication, withdrawn }: Pick<SignedTimestamp, keyof Shown>,
  { place, keyServer }: WhoHasIt,
): Promise<void> {
  const shown = { publication, withdrawn };
  return rememberIfFree(workspace, (last) => {
    const there = place === undefined ? last : withShown(last, place, shown);
    return keyServer ? withTold(there, shown) : there;
  });
}

/** Where another command is at work, what is owed is named once more, and brought once more: that does no harm. */
export async function rememberIfFree(
  workspace: Workspace,
  change: (last: LastPublished) => LastPublished,
): Promise<void> {
  const last = await readLastPublished(workspace);
  if (JSON.stringify(change(last)) === JSON.stringify(last)) return;
  try {
    await withLock(workspace, () => rememberPublished(workspace, change));
  } catch (error) {
    if (!(error instanceof PublishError && error.code === 'workspace-busy')) throw error;
  }
}
