/** What a workspace remembers, as tests look at it: of the place that is confirmed, and of all of them in one list. */
import { readLastPublished, rememberPublished } from '../../publisher/last-published.ts';
import {
  currentPlace,
  currentPublication,
  type PublishedSnapshot,
  unfinishedOf,
} from '../../publisher/published-places.ts';
import type { Workspace } from '../../publisher/workspace.ts';

export async function lastOf(workspace: Pick<Workspace, 'lastPublished'>) {
  const last = await readLastPublished(workspace);
  const { places, keyServer, withdrawn, elsewhere, highest } = last;
  return {
    ...{ withdrawn, elsewhere, highest },
    target: currentPlace(last)?.target ?? null,
    publication: currentPublication(last),
    begun: places.flatMap(({ target, begun }) => begun.map((one) => ({ ...one, target }))),
    /** By what they are owed: `null` stands for the output, and `key server` for that. */
    owed: [
      ...places.flatMap(({ target, owed }) => owed.map((version) => [version, target] as const)),
      ...keyServer.owed.map((version) => [version, 'key server'] as const),
    ],
    unfinished: unfinishedOf(last).map(({ version }) => version),
  };
}

/** Puts another publication in the place of the one that is confirmed. */
export async function changePublication(workspace: Workspace, publication: PublishedSnapshot): Promise<void> {
  await rememberPublished(workspace, (last) => {
    const places = last.places.map((place) => (place.target === last.current ? { ...place, publication } : place));
    return { ...last, places };
  });
}
