/** What the output still says of the publication before: for an index that was lost, and for the versions that may not go back. */
import { join } from 'node:path';
import { DOCUMENTS_ROLE } from '../../core/publication/bins.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import {
  parseSnapshot,
  parseTimestamp,
  type RootMetadata,
  type TimestampMetadata,
} from '../../core/publication/metadata.ts';
import { METADATA_PATH, metadataFile, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { verifyTimestamp } from '../../core/publication/verify-roles.ts';
import type { RoleRow } from '../index/rows.ts';
import { readIfThere } from '../keys/file-update.ts';
import { READER_OPTIONS } from '../keys/roots.ts';

/** The timestamp that is there, not verified: it is our own. */
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
  try {
    return bytes && verifyTimestamp(bytes, root, undefined, READER_OPTIONS);
  } catch (error) {
    if (error instanceof PublicationError) return undefined;
    throw error;
  }
}

/**
 * What the last snapshot in the output names, for an index that was lost: no file may leave a snapshot, and bins do not become fewer. All of it
 * is signed again, but for the bins of earlier numbers.
 */
export async function recoverRoles(out: string): Promise<RoleRow[]> {
  const named = (await readTimestamp(out))?.snapshot.version;
  const bytes = named && (await readIfThere(join(out, METADATA_PATH, metadataFile('snapshot', named))));
  try {
    if (!bytes) return [];
    const { roles } = parseSnapshot(openEnvelope(bytes, 'snapshot').signed());
    return Array.from(roles, ([name, { version, length = 0, sha256: hash = '' }]) => {
      return { name, version, length, sha256: hash, expires: 0 };
    });
  } catch {
    return [];
  }
}

/** The most bits that the number of bins ever had, by their names. */
export function bitsOf(names: Iterable<string>): number {
  const largest = [...names].map((name) => {
    return name.startsWith(`${DOCUMENTS_ROLE}-`) ? Number.parseInt(name.slice(DOCUMENTS_ROLE.length + 1), 16) : 0;
  });
  return Math.ceil(Math.log2(largest.reduce((most, number) => Math.max(most, number), 1) + 1));
}

/** The highest version of a snapshot among the files that are there. */
export function newestOf(files: ReadonlySet<string>): number {
  const numbers = [...files].map((name) => Number(/^(\d+)\.snapshot\.json$/.exec(name)?.[1] ?? 0));
  return numbers.filter(Number.isSafeInteger).reduce((most, number) => Math.max(most, number), 0);
}
