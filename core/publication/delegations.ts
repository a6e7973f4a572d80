/** P11 of docs/spec/publication.md, section 6: who may delegate to whom on a bound site, and that no role delegates to fewer keys than it has. */
import { binFor, DOCUMENTS_ROLE, pathHashOf } from './bins.ts';
import { PublicationError } from './errors.ts';
import { areTufKeyIds, type RoleKeys, type TufKey } from './keys.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import type { SuccinctDelegation, TargetsMetadata } from './metadata.ts';
import { isSectionName, MOST_SECTIONS } from './sections.ts';

/** The keys under which a role was verified, with their values. */
export interface Delegator {
  readonly roleKeys: RoleKeys;
  readonly keys: ReadonlyMap<string, TufKey>;
}

/**
 * Lists do not name themselves, so one can be substituted for another of the same keys, or of fewer. This check keeps such a list
 * from delegating more than the role whose place it takes may delegate.
 *
 * @param by - the keys of `role`
 * @throws PublicationError `metadata-malformed`
 */
export function checkDelegations(role: string, list: TargetsMetadata, by: Delegator): void {
  const good = role === 'targets' ? isTop(list, by) : role === DOCUMENTS_ROLE ? isDocuments(list, by) : isEnd(list);
  if (!good || !areTufKeyIds(keyIdsOf(list)))
    throw new PublicationError('metadata-malformed', `${role} delegates what it cannot`);
}

function keyIdsOf({ keys, bins, delegations }: TargetsMetadata): string[] {
  return [...keys.keys(), ...(bins?.keyids ?? []), ...delegations.flatMap(({ keyids }) => keyids)];
}

/** Sections, whose keys are their own; and documents, under the very keys of `targets`. */
function isTop({ bins, delegations, keys }: TargetsMetadata, by: Delegator): boolean {
  const sections = delegations.filter(({ name }) => name !== DOCUMENTS_ROLE);
  const documents = delegations.find(({ name }) => name === DOCUMENTS_ROLE);
  return (
    bins === undefined &&
    sections.length <= MOST_SECTIONS &&
    sections.every(({ name }) => isSectionName(name)) &&
    documents !== undefined &&
    sameKeys({ roleKeys: documents, keys }, by)
  );
}

/** The bins, under its own keys, and nothing else: what has bins has no other delegations, or is not read. */
function isDocuments({ bins, keys, targetPaths }: TargetsMetadata, by: Delegator): boolean {
  return (
    bins !== undefined &&
    bins.namePrefix === DOCUMENTS_ROLE &&
    bins.bits <= PUBLICATION_LIMITS.binBits &&
    sameKeys({ roleKeys: bins, keys }, by) &&
    targetPaths().length === 0
  );
}

/** Bins and sections. */
function isEnd({ bins, delegations }: TargetsMetadata): boolean {
  return bins === undefined && delegations.length === 0;
}

/**
 * Checks one path, which is enough: a list that was signed for another bin holds none of this one's.
 *
 * @throws PublicationError `metadata-malformed`
 */
export async function checkBin(
  role: string,
  { targetPaths }: TargetsMetadata,
  bins: SuccinctDelegation,
): Promise<void> {
  const [path] = targetPaths();
  if (path === undefined || binFor(await pathHashOf(path), bins) === role) return;
  throw new PublicationError('metadata-malformed', `${role} holds what belongs to another list`);
}

/** Tells whether as many of the same keys have to sign, by id and by value. */
function sameKeys(one: Delegator, other: Delegator): boolean {
  const { keyids, threshold } = other.roleKeys;
  const same = (keyid: string) => one.keys.get(keyid)?.public === other.keys.get(keyid)?.public;
  return one.roleKeys.threshold === threshold && sameMembers(one.roleKeys.keyids, keyids) && keyids.every(same);
}

/** Tells whether both have the same members, as often, in whatever order. */
export function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  const sorted = [...b].sort();
  return a.length === b.length && [...a].sort().every((member, index) => member === sorted[index]);
}
