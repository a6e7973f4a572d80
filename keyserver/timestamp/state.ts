/** What the key server knows of its publisher's publication: roots, the timestamp that counts, and withdrawals. */
import { openEnvelope } from '../../core/publication/envelope.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import { verifyEd25519 } from '../../core/publication/keys.ts';
import { parseTimestamp, type RootMetadata, type TimestampMetadata } from '../../core/publication/metadata.ts';
import {
  type VerifyOptions,
  verifyFirstRoot,
  verifyNextRoot,
  verifyTimestamp,
} from '../../core/publication/verify-roles.ts';
import { withdrawsItself } from '../../core/publication/withdrawals.ts';
import { all, type Database, first, run } from '../storage/database.ts';
import { boundedVersions, type Withdrawals } from './withdrawals.ts';

/** As a reader of a bound site checks. */
export const STRICT: VerifyOptions = { verify: verifyEd25519, strict: true };

export interface Publication extends Withdrawals {
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
  readonly ended: string;
  readonly expiries: string;
}

export function readPublication(database: Database): Publication | undefined {
  const sql =
    'SELECT timestamp, version, least, snapshot, expires, handed_over AS handedOver, withdrawn, ended, expiries FROM publication';
  const row = first<PublicationRow>(database, sql);
  if (row === undefined) return undefined;
  const [withdrawn, ended, expiries] = [row.withdrawn, row.ended, row.expiries].map((text) => JSON.parse(text));
  return { ...row, withdrawn, ended, expiries };
}

/**
 * The timestamp for readers, to whom a fresh one is enough: `undefined` where it hides that its publication is withdrawn, so that they ask the
 * content hosts.
 */
export function readTimestamp(database: Database): Uint8Array | undefined {
  const known = readPublication(database);
  if (known === undefined || !isWithdrawn(known)) return known?.timestamp;
  // Verified when it came; a damaged row says nothing.
  const timestamp = unlessRefused(() => parseTimestamp(openEnvelope(known.timestamp, 'timestamp').signed()));
  return timestamp && withdrawsItself(timestamp) ? known.timestamp : undefined;
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

/** Whether not all readers learn by its timestamp what is known: another is to be signed. */
export function isUnsaid(known: Publication, root: RootMetadata): boolean {
  const isOutrun = known.version < known.least && ifGood(known.timestamp, root) !== undefined;
  return isOutrun || hidesWithdrawal(known, root);
}

export function storePublication(database: Database, publication: Publication): void {
  const { timestamp, version, least, snapshot, expires, handedOver, withdrawn, ended, expiries } = publication;
  const columns = 'id, timestamp, version, least, snapshot, expires, handed_over, withdrawn, ended, expiries';
  const sql = `INSERT OR REPLACE INTO publication (${columns}) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  const texts = [withdrawn, ended, expiries].map((value) => JSON.stringify(value));
  run(database, sql, timestamp, version, least, snapshot, expires, handedOver, ...texts);
}

/** The publication after a timestamp that was verified. @param before - with the withdrawals that outlive it */
export function publicationAfter(
  bytes: Uint8Array,
  timestamp: TimestampMetadata,
  { handedOver, withdrawn, ended, expiries }: Pick<Publication, 'handedOver' | 'withdrawn' | 'ended' | 'expiries'>,
): Publication {
  const snapshot = timestamp.snapshot.version;
  const there = timestamp.withdrawn.filter((version) => version <= snapshot); // none that is still to come
  return {
    timestamp: bytes,
    version: timestamp.version,
    least: timestamp.version,
    snapshot,
    expires: timestamp.expires,
    handedOver,
    withdrawn: boundedVersions([...withdrawn, ...there], snapshot),
    ended,
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

/** @param after - version of the newest that is known */
export function storeRoots(database: Database, further: readonly Uint8Array[], after: number): void {
  for (const [index, metadata] of further.entries())
    run(database, 'INSERT INTO roots (version, metadata) VALUES (?, ?)', after + 1 + index, metadata);
}

/**
 * Follows a chain of roots from the one that a bundle brought, whose hash is the publisher's pinned identity (5.3).
 *
 * @throws PublicationError
 */
export function verifyRoots([firstRoot, ...later]: readonly Uint8Array[]): RootMetadata {
  return followRoots(verifyFirstRoot(firstRoot ?? new Uint8Array(0), STRICT), later);
}

/** @throws PublicationError */
export function followRoots(known: RootMetadata, further: readonly Uint8Array[]): RootMetadata {
  return further.reduce((root, bytes) => verifyNextRoot(bytes, root, STRICT), known);
}

/** The root that counts; `undefined` before a bundle brought one. @throws as {@link verifyRoots} */
export function newestRoot(database: Database): RootMetadata | undefined {
  const roots = readRoots(database);
  return roots && verifyRoots(roots);
}

/** A timestamp by itself, if the root's keys have signed it. */
export function ifGood(bytes: Uint8Array, root: RootMetadata): TimestampMetadata | undefined {
  return unlessRefused(() => verifyTimestamp(bytes, root, undefined, STRICT));
}

/** The root after another, if it is that. */
export function nextRootIfGood(bytes: Uint8Array, root: RootMetadata): RootMetadata | undefined {
  return unlessRefused(() => verifyNextRoot(bytes, root, STRICT));
}

function unlessRefused<Verified>(verify: () => Verified): Verified | undefined {
  try {
    return verify();
  } catch (error) {
    if (error instanceof PublicationError) return undefined;
    throw error;
  }
}
