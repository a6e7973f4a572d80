/** Reads and writes what the database has of the publisher's publication: the roots, and the current snapshot and timestamp. */
import { openEnvelope } from '../../core/publication/envelope.ts';
import { ifGood } from '../../core/publication/errors.ts';
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import { verifyEd25519 } from '../../core/publication/keys.ts';
import {
  parseSnapshot,
  type RootMetadata,
  type SnapshotMetadata,
  type TimestampMetadata,
} from '../../core/publication/metadata.ts';
import { TIMESTAMP_FILE } from '../../core/publication/names.ts';
import {
  type RoleChecks,
  verifyFirstRoot,
  verifyNextRoot,
  verifyOwnSnapshot,
  verifyOwnTimestamp,
} from '../../core/publication/verify-roles.ts';
import type { Database } from '../storage/database.ts';

const VERSIONED_FILE = /^([1-9]\d{0,15})\.(root|snapshot)\.json$/;

/** Checks of a reader of a bound site. */
export const STRICT: RoleChecks = { verify: verifyEd25519, strict: true };

/** The current publication. Versions and expiry are those of the two files, so that they can be read without parsing these. */
export interface Publication {
  readonly snapshot: Uint8Array;
  readonly timestamp: Uint8Array;
  readonly snapshotVersion: number;
  /** Time at which the timestamp was signed, in seconds since 1970. */
  readonly version: number;
  readonly expires: number;
  /** Times at which other roles expire, as the publisher said. */
  readonly expiries: readonly RoleExpiry[];
  readonly published: number;
  /** Name of the publisher who handed it over, as the audit trail has it; `server` where it was found at a target. */
  readonly who: string;
  /** Place that its publisher named; `''`: unknown. */
  readonly place: string;
}

export async function readPublication(database: Database): Promise<Publication | undefined> {
  const sql =
    'SELECT snapshot, timestamp, snapshot_version AS "snapshotVersion", version, expires, expiries, published, who, place FROM publication';
  const row = await database.first<Publication & { readonly expiries: string }>(sql);
  return row && { ...row, expiries: JSON.parse(row.expiries) };
}

export async function storePublication(database: Database, publication: Publication): Promise<void> {
  const { snapshot, timestamp, snapshotVersion, version, expires, expiries, published, who, place } = publication;
  const columns = 'id, snapshot, timestamp, snapshot_version, version, expires, expiries, published, who, place';
  const sql = `INSERT INTO publication (${columns}) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET snapshot = excluded.snapshot, timestamp = excluded.timestamp,
      snapshot_version = excluded.snapshot_version, version = excluded.version, expires = excluded.expires, expiries = excluded.expiries,
      published = excluded.published, who = excluded.who, place = excluded.place`;
  const facts = [snapshotVersion, version, expires, JSON.stringify(expiries), published, who, place];
  await database.run(sql, snapshot, timestamp, ...facts);
}

/** Tells whether the current publication is a closing one. */
export function isWithdrawn({ snapshot }: Publication): boolean {
  return parseSnapshot(openEnvelope(snapshot, 'snapshot').signed()).closed;
}

/** Reads a file that readers ask for by name: the timestamp, a root, the current snapshot. @param file - such as `7.snapshot.json` */
export async function readMetadata(database: Database, file: string): Promise<Uint8Array | undefined> {
  if (file === TIMESTAMP_FILE)
    return (await database.first<{ timestamp: Uint8Array }>('SELECT timestamp FROM publication'))?.timestamp;
  const [, version, role] = VERSIONED_FILE.exec(file) ?? [];
  if (role === undefined) return undefined;
  if (role === 'root' && version === '1') return (await readRoots(database))?.[0];
  const later = 'SELECT metadata FROM roots WHERE version = ?';
  if (role === 'root') return (await database.first<{ metadata: Uint8Array }>(later, Number(version)))?.metadata;
  const sql = 'SELECT snapshot FROM publication WHERE snapshot_version = ?';
  return (await database.first<{ snapshot: Uint8Array }>(sql, Number(version)))?.snapshot;
}

/** Reads all roots, the first one first; `undefined` before the first bundle. */
export async function readRoots(database: Database): Promise<Uint8Array[] | undefined> {
  const provider = await database.first<{ first_root: Uint8Array }>('SELECT first_root FROM provider');
  if (!provider) return undefined;
  const later = await database.all<{ metadata: Uint8Array }>('SELECT metadata FROM roots ORDER BY version');
  return [provider.first_root, ...later.map(({ metadata }) => metadata)];
}

/** @param after - version of the newest that is stored */
export async function storeRoots(database: Database, further: readonly Uint8Array[], after: number): Promise<void> {
  for (const [index, metadata] of further.entries())
    await database.run('INSERT INTO roots (version, metadata) VALUES (?, ?)', after + 1 + index, metadata);
}

/** Follows a chain of roots from the one in the bundle, whose hash is the publisher's pinned identity (5.3). @throws PublicationError */
export async function verifyRoots([firstRoot, ...later]: readonly Uint8Array[]): Promise<RootMetadata> {
  return followRoots(await verifyFirstRoot(firstRoot ?? new Uint8Array(0), STRICT), later);
}

/** @throws PublicationError */
export async function followRoots(known: RootMetadata, further: readonly Uint8Array[]): Promise<RootMetadata> {
  let root = known;
  for (const bytes of further) root = await verifyNextRoot(bytes, root, STRICT);
  return root;
}

/** The newest root; `undefined` before the first bundle. @throws as {@link verifyRoots} */
export async function newestRoot(database: Database): Promise<RootMetadata | undefined> {
  const roots = await readRoots(database);
  return roots && verifyRoots(roots);
}

/** The publication and the newest root, as they are at one moment; `undefined` where there is one of them only. */
export function readCurrent(
  database: Database,
): Promise<{ readonly publication: Publication; readonly root: RootMetadata } | undefined> {
  return database.transaction(async () => {
    const [publication, root] = [await readPublication(database), await newestRoot(database)];
    return publication && root && { publication, root };
  });
}

/** A timestamp by itself, if the root's keys have signed it. */
export function goodTimestamp(bytes: Uint8Array, root: RootMetadata): Promise<TimestampMetadata | undefined> {
  return ifGood(() => verifyOwnTimestamp(bytes, root, STRICT));
}

/** A snapshot by itself, if the root's keys have signed it. */
export function goodSnapshot(bytes: Uint8Array, root: RootMetadata): Promise<SnapshotMetadata | undefined> {
  return ifGood(() => verifyOwnSnapshot(bytes, root, STRICT));
}

/** The root after another, if it is that. */
export function goodNextRoot(bytes: Uint8Array, root: RootMetadata): Promise<RootMetadata | undefined> {
  return ifGood(() => verifyNextRoot(bytes, root, STRICT));
}
