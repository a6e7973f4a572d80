/** The lists of documents of an earlier publication beside those of the current one: what differs, and how that is signed again. */
import { binFor, binNames, DOCUMENTS_ROLE, pathHashOf } from '../../core/publication/bins.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import { type SuccinctDelegation, sameFile, type TargetInfo } from '../../core/publication/metadata.ts';
import { PublishError } from '../errors.ts';
import { contentsOf, delegatedRoles, type PublishedDocument, type Selection } from '../publication/roles.ts';
import type { SnapshotPublication } from '../publication/signed.ts';

/** Keyed by target path. */
export type Entries = ReadonlyMap<string, TufObject>;

export interface Lists {
  readonly entries: ReadonlyMap<string, Entries>;
  readonly documents: ReadonlyMap<string, PublishedDocument>;
  readonly bins: SuccinctDelegation | undefined;
}

export interface DocumentChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** Finds the lists that two publications do not have in common; `undefined` where documents are divided into lists in another way. */
export function differingLists(one: SnapshotPublication, other: SnapshotPublication): Selection | undefined {
  const [before, after] = [one.state.snapshot.roles, other.state.snapshot.roles];
  const isSame = (name: string) => {
    const [a, b] = [before.get(name), after.get(name)];
    return a !== undefined && b !== undefined && sameFile(a, b);
  };
  if (!isSame(DOCUMENTS_ROLE) || !isSame('targets')) return undefined;
  return { lists: new Set([...after.keys()].filter((name) => !isSame(name))), targets: new Map() };
}

/** @throws PublishError `publication-missing` if a list is not kept any more */
export async function readLists(
  publication: SnapshotPublication,
  to: number,
  selection: Selection | undefined,
): Promise<Lists> {
  const entries = new Map<string, Entries>();
  const documents = new Map<string, PublishedDocument>();
  let bins: SuccinctDelegation | undefined;
  for await (const delegated of delegatedRoles(publication, selection)) {
    const { role, name } = delegated;
    if (role === undefined) throw gone(to, name);
    bins = role.bins ?? bins;
    if (selection && !selection.lists.has(name)) continue;
    entries.set(name, new Map(role.targetPaths().map((path) => [path, entryOf(role.target(path) as TargetInfo)])));
    for (const document of (await contentsOf(delegated)).documents) documents.set(document.path, document);
  }
  return { entries, documents, bins };
}

function entryOf({ length, sha256, custom }: TargetInfo): TufObject {
  return { ...(custom && { custom }), hashes: { sha256 }, length };
}

export function comparison({ documents: then }: Lists, { documents: now }: Lists): DocumentChanges {
  const isSame = (path: string) => JSON.stringify(then.get(path)?.entry) === JSON.stringify(now.get(path)?.entry);
  const paths = [...then.keys()].sort();
  return {
    added: paths.filter((path) => !now.has(path)),
    removed: [...now.keys()].filter((path) => !then.has(path)).sort(),
    changed: paths.filter((path) => now.has(path) && !isSame(path)),
  };
}

/** Returns the bins that differ, divided as they are now. @throws PublishError `publication-missing` if a section has changed */
export async function rebinned(
  then: Lists,
  now: Lists,
  to: number,
  isSameDivision: boolean,
): Promise<Map<string, Map<string, TufObject>>> {
  const { bins: division } = now;
  if (division === undefined) throw new Error('every publication has bins');
  const isSection = (name: string) => name !== DOCUMENTS_ROLE && !name.startsWith(`${DOCUMENTS_ROLE}-`);
  const lists = [...then.entries.keys(), ...now.entries.keys()];
  const changed = lists.filter(isSection).find((name) => !isSameList(then.entries.get(name), now.entries.get(name)));
  if (changed !== undefined)
    throw refused(to, `has another section ${changed}, and a rollback does not sign for sections`);
  const names = isSameDivision ? lists.filter((name) => !isSection(name)) : binNames(division.bits);
  const bins = new Map(names.map((name) => [name, new Map<string, TufObject>()]));
  for (const [name, entries] of then.entries) {
    if (isSection(name)) continue;
    for (const [path, entry] of entries) bins.get(binFor(await pathHashOf(path), division))?.set(path, entry);
  }
  for (const [name, entries] of bins) if (isSameList(entries, now.entries.get(name))) bins.delete(name);
  return bins;
}

function isSameList(a: Entries | undefined, b: Entries | undefined): boolean {
  const text = (list: Entries) => JSON.stringify([...list].sort(([x], [y]) => (x < y ? -1 : 1)));
  return a !== undefined && b !== undefined && text(a) === text(b);
}

export function gone(version: number, what?: string): PublishError {
  return refused(
    version,
    what === undefined ? 'is not kept any more' : `is not kept whole any more: ${what} is missing`,
  );
}

export function refused(version: number, reason: string): PublishError {
  return new PublishError('publication-missing', `publication ${version} ${reason}`, { fields: { version } });
}
