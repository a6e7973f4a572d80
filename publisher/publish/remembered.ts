/**
 * Remembers in `publisher.db` what targets have: a run looks only at what it changes, and at a part of the rest in turn.
 *
 * Remembered is the publication whose files are all there, and up to which change of a document. It is noted once a target shows that publication,
 * so an interrupted run leaves what was noted before it; and it holds only while the target shows that very publication.
 */

import { pathHashOf } from '../../core/publication/bins.ts';
import type { SnapshotMetadata } from '../../core/publication/metadata.ts';
import { headTargetOf } from '../../core/publication/names.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { shownAt } from '../authority/authority.ts';
import type { Selection } from '../publication/roles.ts';
import type { SignedSnapshot, SnapshotPublication } from '../publication/signed.ts';
import { sourceAtTarget } from '../publication/sources.ts';
import type { TargetRow } from '../workspace/index/schema.ts';
import type { Site } from './site.ts';

/** Changes beyond this share of the documents are found sooner in a listing of the target. */
const MOST_CHANGED = 0.1;

/** Documents of a publication that is not that of the index, and the snapshot to which it changes them. */
export interface RolledBack {
  readonly from: string;
  readonly paths: readonly string[];
  readonly removed: readonly string[];
}

export interface Known {
  /** Publication that it has, with all files. */
  readonly shown: SnapshotMetadata;
  readonly row: TargetRow;
  /** Paths of the documents that have become others since. */
  readonly changed: ReadonlySet<string>;
}

/** Part of a publication that is looked at at a target. */
export interface Part extends Selection, Known {
  /** Name of the last list that is compared in turn. */
  readonly compared: string;
}

/** @returns `undefined` where nothing is remembered that still holds */
export async function knownAt(
  target: Target,
  { index, roots }: Pick<Site, 'index' | 'roots'>,
  rolledBack: RolledBack | undefined,
): Promise<Known | undefined> {
  const row = index.target(target.name);
  if (row === undefined || (rolledBack && rolledBack.from !== row.sha256)) return undefined;
  const shown = await shownAt(sourceAtTarget(target), roots);
  if (shown?.snapshot.file.sha256 !== row.sha256) return undefined;
  const changed = new Set([...index.changedSince(row.seen), ...(rolledBack?.paths ?? [])]);
  return { shown: shown.snapshot.snapshot, row, changed };
}

/** @returns `undefined` where everything is to be compared */
export async function partFor(
  known: Known | undefined,
  { index, inTurn }: Pick<Site, 'index' | 'inTurn'>,
  { signed }: SnapshotPublication,
): Promise<Part | undefined> {
  const documents = index.countDocuments();
  if (!known || inTurn === 'all' || documents <= inTurn) return undefined;
  if (known.changed.size > Math.max(inTurn, documents * MOST_CHANGED)) return undefined;
  const paths = Array.from(known.changed, headTargetOf);
  const targets = new Map(await Promise.all(paths.map(async (path) => [path, await pathHashOf(path)] as const)));
  const lists = listsInTurn(signed.snapshot, known.row.compared, inTurn / documents);
  return { ...known, targets, lists: new Set(lists), compared: lists.at(-1) ?? known.row.compared };
}

/** @param share - of all lists */
function listsInTurn({ roles }: SnapshotMetadata, last: string, share: number): string[] {
  const names = [...roles.keys()].sort();
  const start = names.findIndex((name) => name > last);
  const inOrder = start < 0 ? names : [...names.slice(start), ...names.slice(0, start)];
  return inOrder.slice(0, Math.ceil(names.length * share));
}

/** Notes what a target has that shows a publication. @param part - that was looked at; `undefined`: everything was */
export function remember(
  { index }: Pick<Site, 'index'>,
  { name }: Target,
  { file }: SignedSnapshot,
  part: Part | undefined,
): void {
  const { id, isSigned } = index.lastChange();
  const isOfIndex = isSigned && index.roles().get('snapshot')?.sha256 === file.sha256;
  const seen = isOfIndex ? id : part?.row.seen;
  if (seen === undefined) index.forgetTarget(name);
  else index.storeTarget({ name, version: file.version, sha256: file.sha256, seen, compared: part?.compared ?? '' });
}

/** Notes that targets show a closing publication in place of the one before: all else there is as it was. */
export function rememberClosing(
  { index }: Pick<Site, 'index'>,
  targets: readonly string[],
  before: SignedSnapshot,
  { file: { version, sha256 } }: SignedSnapshot,
): void {
  for (const row of targets.map((name) => index.target(name)))
    if (row?.sha256 === before.file.sha256) index.storeTarget({ ...row, version, sha256 });
}
