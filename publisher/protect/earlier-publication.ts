/** What the output still says of the publication before: for an index that was lost, and for the versions that may not go back. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DOCUMENTS_ROLE, isBinName } from '../../core/publication/bins.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import {
  parseTimestamp,
  type RootMetadata,
  type SnapshotMetadata,
  type TimestampMetadata,
} from '../../core/publication/metadata.ts';
import { METADATA_PATH, metadataFile, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { isSectionName } from '../../core/publication/sections.ts';
import { verifyOwnSnapshot, verifyTimestamp } from '../../core/publication/verify-roles.ts';
import type { RoleRow } from '../index/rows.ts';
import { readIfThere } from '../keys/file-update.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import { placeInDirectory } from '../publication/places.ts';
import { ifGood, underAny } from '../publication/roots.ts';
import { MOST_FOUND } from './numbers.ts';

/** The timestamp that is there, not verified: what it names, it merely claims. */
export async function readTimestamp(out: string): Promise<TimestampMetadata | undefined> {
  const bytes = await readIfThere(join(out, METADATA_PATH, TIMESTAMP_FILE));
  try {
    return bytes && parseTimestamp(openEnvelope(bytes, 'timestamp').signed());
  } catch {
    return undefined; // damaged, and replaced now
  }
}

/**
 * The timestamp that is there, unless its keys are none of this root: whoever stole one of those could withdraw anything, and with new keys
 * versions begin anew (TUF, 5.3.11), as they have to where a clock was ahead.
 */
export async function timestampUnder(out: string, root: RootMetadata): Promise<TimestampMetadata | undefined> {
  const bytes = await readIfThere(join(out, METADATA_PATH, TIMESTAMP_FILE));
  return bytes && ifGood(() => verifyTimestamp(bytes, root, undefined, READER_OPTIONS));
}

/** What a signed snapshot in the output names, and its number. */
export interface RecoveredRoles {
  readonly version: number;
  readonly rows: readonly RoleRow[];
}

/**
 * The snapshot of a number, if keys of one of the roots have signed it for that very number. Whoever serves a copy of the output can change what
 * is in it, and call the files of before whatever they like.
 *
 * @param roots - of this publisher, the newest first
 */
export async function readSnapshot(
  out: string,
  version: number,
  roots: readonly RootMetadata[],
): Promise<SnapshotMetadata | undefined> {
  const path = METADATA_PATH + metadataFile('snapshot', version);
  const bytes = await placeInDirectory(out).read(path, PUBLICATION_LIMITS.snapshotLength);
  const snapshot = bytes && (await underAny(roots, (root) => verifyOwnSnapshot(bytes, root, READER_OPTIONS)));
  return snapshot?.version === version ? snapshot : undefined;
}

/**
 * What the last snapshot in the output names, for an index that was lost: no file may leave a snapshot, and bins do not become fewer. All of it
 * is signed again, but for the bins of earlier numbers. Of what keys of this publisher have not signed, nothing.
 *
 * @param named - the snapshot that the timestamp there names
 */
export async function recoverRoles(
  out: string,
  named: number,
  roots: readonly RootMetadata[],
): Promise<RecoveredRoles | undefined> {
  const snapshot = (await readSnapshot(out, named, roots)) ?? (await newestSnapshot(out, await namesIn(out), roots, 0));
  if (snapshot === undefined) return undefined;
  const rows = Array.from(snapshot.roles, ([name, { version, length = 0, sha256: hash = '' }]) => {
    return { name, version, length, sha256: hash, expires: 0 };
  });
  return { version: snapshot.version, rows: rows.filter(({ name }) => isListName(name)) };
}

/** Whether a snapshot of ours can name such a role: P3 and P11 of docs/spec/publication.md. */
export function isListName(name: string): boolean {
  return ['targets', DOCUMENTS_ROLE].includes(name) || isBinName(name) || isSectionName(name);
}

/** The most bits that the number of bins ever had, by their names. */
export function bitsOf(names: Iterable<string>): number {
  const largest = [...names].map((name) => {
    return isBinName(name) ? Number.parseInt(name.slice(DOCUMENTS_ROLE.length + 1), 16) : 0;
  });
  return Math.ceil(Math.log2(largest.reduce((most, number) => Math.max(most, number), 1) + 1));
}

/**
 * The snapshot of the highest number, if that is above `known`. A number that nobody gets to by publishing comes from a thief of the key; so it
 * counts for as long as that key does.
 *
 * @param names - of the files that are there
 * @param roots - of this publisher, the newest first
 */
export async function newestSnapshot(
  out: string,
  names: Iterable<string>,
  roots: readonly RootMetadata[],
  known: number,
): Promise<SnapshotMetadata | undefined> {
  const numbers = [...names].map((name) => Number(/^([1-9]\d{0,15})\.snapshot\.json$/.exec(name)?.[1] ?? 0));
  const higher = numbers.filter((number) => Number.isSafeInteger(number) && number > known);
  for (const number of higher.sort((a, b) => b - a)) {
    const found = await readSnapshot(out, number, number > MOST_FOUND ? roots.slice(0, 1) : roots);
    if (found) return found;
  }
  return undefined;
}

/** Names of the metadata that are there. */
async function namesIn(out: string): Promise<string[]> {
  const entries = await readdir(join(out, METADATA_PATH), { withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}
