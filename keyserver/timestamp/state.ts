/** What the key server knows of its publisher's publication: roots, the timestamp that counts, and withdrawals. */
import { PublicationError } from '../../core/publication/errors.ts';
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import { verifyEd25519 } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata, TimestampMetadata } from '../../core/publication/metadata.ts';
import {
  type VerifyOptions,
  verifyFirstRoot,
  verifyNextRoot,
  verifyTimestamp,
} from '../../core/publication/verify-roles.ts';
import { highestVersions, withdrawsItself } from '../../core/publication/withdrawals.ts';
import { all, type Database, first, run } from '../storage/database.ts';

/** As a reader of a bound site checks. */
export const STRICT: VerifyOptions = { verify: verifyEd25519, strict: true };

export interface Publication {
  /** `timestamp.json`, byte for byte. */
  readonly timestamp: Uint8Array;
  /** Version of the timestamp: when it was signed, in seconds since 1970. */
  readonly version: number;
  /** The least version by which all readers learn what it says: its own, or above what they may have seen in its place. Then one is to be signed. */
  readonly least: number;
  /** Version of the publication. */
  readonly snapshot: number;
  /** Of the timestamp, in seconds since 1970. */
  readonly expires: number;
  /** Version of the publication that was handed over last; that of the timestamp may have come by a target, and name any. */
  readonly handedOver: number;
  /** Versions that are withdrawn, ascending: those that are remembered, and those of the timestamp. */
  readonly withdrawn: readonly number[];
  readonly expiries: readonly RoleExpiry[];
}

interface PublicationRow {
  readonly timestamp: Uint8Array;
  readonly version: number;
  readonly least: number;
  readonly snapshot: number;
  readonly expires: number;
  readonly handedOver: number;
  readonly withdrawn: string;
  readonly expiries: string;
}

export function readPublication(database: Database): Publication | undefined {
  const sql =
    'SELECT timestamp, version, least, snapshot, expires, handed_over AS handedOver, withdrawn, expiries FROM publication';
  const row = first<PublicationRow>(database, sql);
  return row && { ...row, withdrawn: JSON.parse(row.withdrawn), expiries: JSON.parse(row.expiries) };
}

/** The timestamp alone, for readers. */
export function readTimestamp(database: Database): Uint8Array | undefined {
  return first<{ timestamp: Uint8Array }>(database, 'SELECT timestamp FROM publication')?.timestamp;
}

/** Whether the publication that the timestamp names is withdrawn. */
export function isWithdrawn({ snapshot, withdrawn }: Publication): boolean {
  return withdrawn.includes(snapshot);
}

/** Whether it is withdrawn, and its timestamp does not say so. Under a new key nothing is said. */
export function hidesWithdrawal(known: Publication, root: RootMetadata): boolean {
  const current = ifGood(known.timestamp, root);
  return isWithdrawn(known) && current !== undefined && !withdrawsItself(current);
}

/** Whether it is withdrawn, and not all readers learn of that by its timestamp: another is to be signed. */
export function isUnsaid(known: Publication, root: RootMetadata): boolean {
  const isOutrun = known.version < known.least && ifGood(known.timestamp, root) !== undefined;
  return isWithdrawn(known) && (isOutrun || hidesWithdrawal(known, root));
}

export function storePublication(database: Database, publication: Publication): void {
  const { timestamp, version, least, snapshot, expires, handedOver, withdrawn, expiries } = publication;
  const columns = 'id, timestamp, version, least, snapshot, expires, handed_over, withdrawn, expiries';
  const sql = `INSERT OR REPLACE INTO publication (${columns}) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)`;
  const texts = [JSON.stringify(withdrawn), JSON.stringify(expiries)] as const;
  run(database, sql, timestamp, version, least, snapshot, expires, handedOver, ...texts);
}

/**
 * The withdrawals that outlive a new timestamp. Versions above the one that was handed over are none: whoever has the timestamp key could claim
 * them at a target, and so withdraw what is still to come.
 */
export function remembered({ withdrawn, handedOver }: Publication): number[] {
  return withdrawn.filter((version) => version <= handedOver);
}

/** The publication after a timestamp that was verified. @param before - with the withdrawals that outlive it */
export function publicationAfter(
  bytes: Uint8Array,
  timestamp: TimestampMetadata,
  { handedOver, withdrawn, expiries }: Pick<Publication, 'handedOver' | 'withdrawn' | 'expiries'>,
): Publication {
  return {
    timestamp: bytes,
    version: timestamp.version,
    least: timestamp.version,
    snapshot: timestamp.snapshot.version,
    expires: timestamp.expires,
    handedOver,
    withdrawn: highestVersions([...withdrawn, ...timestamp.withdrawn], PUBLICATION_LIMITS.withdrawnKept),
    expiries,
  };
}

/** All roots, the first one first; `undefined` before a bundle brought it. */
export function readRoots(database: Database): Uint8Array[] | undefined {
  const provider = first<{ first_root: Uint8Array | null }>(database, 'SELECT first_root FROM provider');
  if (!provider?.first_root) return undefined;
  const later = all<{ metadata: Uint8Array }>(database, 'SELECT metadata FROM roots ORDER BY version');
  return [provider.first_root, ...later.map(({ metadata }) => metadata)];
}

/** One root, for readers. */
export function readRoot(database: Database, version: number): Uint8Array | undefined {
  if (version === 1) return readRoots(database)?.[0];
  return first<{ metadata: Uint8Array }>(database, 'SELECT metadata FROM roots WHERE version = ?', version)?.metadata;
}

/** Replaces the roots after the first. */
export function storeRoots(database: Database, later: readonly Uint8Array[]): void {
  run(database, 'DELETE FROM roots');
  for (const [index, metadata] of later.entries())
    run(database, 'INSERT INTO roots (version, metadata) VALUES (?, ?)', index + 2, metadata);
}

/**
 * Follows a chain of roots from the one that a bundle brought, whose hash is the publisher's pinned identity (5.3).
 *
 * @throws PublicationError
 */
export function verifyRoots([firstRoot, ...later]: readonly Uint8Array[]): RootMetadata {
  let root = verifyFirstRoot(firstRoot ?? new Uint8Array(0), STRICT);
  for (const bytes of later) root = verifyNextRoot(bytes, root, STRICT);
  return root;
}

/** The root that counts; `undefined` before a bundle brought one. @throws as {@link verifyRoots} */
export function newestRoot(database: Database): RootMetadata | undefined {
  const roots = readRoots(database);
  return roots && verifyRoots(roots);
}

/** A timestamp by itself, if the root's keys have signed it. */
export function ifGood(bytes: Uint8Array, root: RootMetadata): TimestampMetadata | undefined {
  try {
    return verifyTimestamp(bytes, root, undefined, STRICT);
  } catch (error) {
    if (error instanceof PublicationError) return undefined;
    throw error;
  }
}
