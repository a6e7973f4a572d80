/** What is new to the key server in a publication: told by the one before, which lies at the target, and by what was published from here last. */
import { PublicationError } from '../../core/publication/errors.ts';
import { DESCRIPTOR_TARGET } from '../../core/publication/names.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { type OpenedPublication, openPublication } from '../publication/open.ts';
import { placeAtTarget } from '../publication/places.ts';
import { contentsOf, delegatedRoles, type NamedRoles } from '../publication/roles.ts';
import { type LastPublished, placeOf } from '../published-places.ts';
import { FilesByHash } from './files-by-hash.ts';
import { openPublished } from './published-here.ts';

export interface NewSets {
  /** Sets that no publication before is seen to have. */
  readonly count: number;
  /** Whether there was one to be seen, and all of it: else nobody can tell which are new. */
  readonly isKnown: boolean;
}

/**
 * How many of the sets are new. The target cannot tell where an upload ended behind a new root, or where its host has lost or hides something;
 * what was published to it from here last was remembered when the key server had its keys.
 *
 * @param sets - of the publication that is to be brought there
 */
export async function newSetsOf(
  publication: OpenedPublication,
  target: Target,
  sets: ReadonlySet<string>,
  last: LastPublished,
): Promise<NewSets> {
  const left = new Set(sets);
  const there = await openBefore(target, publication);
  const isSeen = there !== undefined && (await takeAway(there, left));
  const isKnown = isSeen || publication.state.snapshot.version === 1; // then there was none before
  const here = placeOf(last, target.name).publication;
  if (left.size === 0 || here === undefined || here.sha256 === there?.state.timestamp.snapshot.sha256)
    return { count: left.size, isKnown };
  const files = new FilesByHash([publication.place, placeAtTarget(target)]);
  const before = await openPublished(here, publication, files);
  const isWhole = before !== undefined && (await takeAway(before, left));
  return { count: left.size, isKnown: isWhole };
}

/**
 * Whether the key server has to know something before the publication is shown: keys of new sets, another descriptor, another root, which may
 * have a new timestamp key.
 *
 * @param sets - of the publication that is to be brought there
 */
export async function hasNews(
  publication: OpenedPublication,
  target: Target,
  sets: ReadonlySet<string>,
): Promise<boolean> {
  const before = await openBefore(target, publication);
  if (before === undefined || before.state.root.version !== publication.state.root.version) return true;
  const [old, current] = [before, publication].map((each) => each.state.targets.target(DESCRIPTOR_TARGET)?.sha256);
  if (old !== current) return true;
  const left = new Set(sets);
  await takeAway(before, left);
  return left.size > 0;
}

/** Takes the sets away that a publication has. @returns whether all of its lists could be read that were needed for that */
async function takeAway(before: NamedRoles, left: Set<string>): Promise<boolean> {
  let isWhole = true;
  for await (const role of delegatedRoles(before)) {
    if (left.size === 0) break;
    isWhole &&= role.failure === undefined;
    for (const { entry } of (await contentsOf(role)).documents) if (entry.set !== undefined) left.delete(entry.set);
  }
  return isWhole || left.size === 0;
}

async function openBefore(
  target: Target,
  { rootId, state }: OpenedPublication,
): Promise<OpenedPublication | undefined> {
  try {
    return await openPublication(placeAtTarget(target), { rootId, now: state.timestamp.version });
  } catch (error) {
    if (error instanceof PublicationError) return undefined;
    throw error;
  }
}
