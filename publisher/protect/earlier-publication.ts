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
import { MOST_BY_REPLACED } from './numbers.ts';

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

/** Files of a copy that are looked into for a snapshot of ours: whoever serves it can put any number of others there. */
const MOST_LOOKED_INTO = 64;

/**
 * The snapshot of a number, if keys of one of the roots have signed it for that very number. Whoever serves a copy of the output can change what
 * is in it, and call the files of before whatever they like.
 *
 * @param roots - of this publisher
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
 * is signed again, but for the bins of earlier numbers. Of what keys of this publisher have not signed, nothing; nor of what only replaced ones
 * have: readers forget that (TUF, 5.3.11), and whoever stole one of those would have us sign thousands of lists for ever.
 *
 * @param named - the snapshot that the timestamp there names
 * @param roots - of this publisher, the newest first
 */
export async function recoverRoles(
  out: string,
  named: number,
  roots: readonly RootMetadata[],
): Promise<RecoveredRoles | undefined> {
  const current = roots.slice(0, 1);
  let snapshot = await readSnapshot(out, named, current);
  for (const number of snapshot ? [] : numbersIn(await namesIn(out))) {
    snapshot = await readSnapshot(out, number, current);
    if (snapshot) break;
  }
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

/** What is known of the last publication, whatever the output says. */
export interface KnownNumbers {
  /** To the index. */
  readonly indexed: number;
  /** To publisher.keys; 0 where nobody can tell without the passphrase. */
  readonly kept: number;
  /** The id of the key that signed the last snapshot that the index knows of. */
  readonly signer: string | undefined;
}

/**
 * The highest number that was signed for the output, if the index knows of none as high; else 0. A key that was replaced counts for nothing where
 * one of today has signed anything here, or for the index, and else for little ({@link MOST_BY_REPLACED}): its thief would have it for good.
 *
 * @param names - of the files that are there
 * @param roots - of this publisher, the newest first
 */
export async function newestNumber(
  out: string,
  names: Iterable<string>,
  roots: readonly RootMetadata[],
  { indexed, kept, signer = '' }: KnownNumbers,
): Promise<number> {
  const current = roots.slice(0, 1);
  const before = current.some(({ roles }) => roles.snapshot.keyids.includes(signer)) ? [] : roots.slice(1);
  const most = Math.max(indexed, kept) + MOST_BY_REPLACED;
  let byReplaced = 0;
  for (const number of numbersIn(names)) {
    const isKnown = number <= indexed;
    if (isKnown && byReplaced === 0) break;
    if (await readSnapshot(out, number, current)) return isKnown ? 0 : number;
    if (byReplaced > 0 || number > most) continue;
    if (await readSnapshot(out, number, before)) byReplaced = number;
  }
  return byReplaced;
}

/** The numbers of snapshots, by names of files: the highest first, as many as are looked into. */
function numbersIn(names: Iterable<string>): number[] {
  const numbers = [...names].map((name) => Number(/^([1-9]\d{0,15})\.snapshot\.json$/.exec(name)?.[1] ?? 0));
  const found = numbers.filter((number) => Number.isSafeInteger(number) && number > 0);
  return found.sort((a, b) => b - a).slice(0, MOST_LOOKED_INTO);
}

/** Names of the metadata that are there. */
async function namesIn(out: string): Promise<string[]> {
  const entries = await readdir(join(out, METADATA_PATH), { withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}
