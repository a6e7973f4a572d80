/** What is new to the key server in a publication: told by the one before, which lies at the target. */
import { PublicationError } from '../../core/publication/errors.ts';
import { DESCRIPTOR_TARGET } from '../../core/publication/names.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { type OpenedPublication, openPublication } from '../publication/open.ts';
import { placeAtTarget } from '../publication/places.ts';
import { contentsOf, delegatedRoles } from '../publication/roles.ts';

/**
 * How many of the sets are new.
 *
 * @param sets - of the publication that is to be brought there
 */
export async function newSetsOf(
  { rootId, state }: OpenedPublication,
  target: Target,
  sets: ReadonlySet<string>,
): Promise<number> {
  return countNew(sets, await openBefore(target, rootId, state.timestamp.version));
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
  const { rootId, state } = publication;
  const before = await openBefore(target, rootId, state.timestamp.version);
  if (before === undefined || before.state.root.version !== state.root.version) return true;
  const [old, current] = [before, publication].map((each) => each.state.targets.target(DESCRIPTOR_TARGET)?.sha256);
  return old !== current || (await countNew(sets, before)) > 0;
}

async function countNew(sets: ReadonlySet<string>, before: OpenedPublication | undefined): Promise<number> {
  const left = new Set(sets);
  if (before === undefined) return left.size;
  for await (const role of delegatedRoles(before)) {
    if (left.size === 0) return 0;
    for (const { entry } of (await contentsOf(role)).documents) if (entry.set !== undefined) left.delete(entry.set);
  }
  return left.size;
}

async function openBefore(target: Target, rootId: string, now: number): Promise<OpenedPublication | undefined> {
  try {
    return await openPublication(placeAtTarget(target), { rootId, now });
  } catch (error) {
    if (error instanceof PublicationError) return undefined;
    throw error;
  }
}
