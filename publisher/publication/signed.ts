/** Metadata that the keys of a site have signed at a source: its roots, snapshots whether or not a timestamp names them yet, what it shows. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { hexDigest } from '../../core/encoding/digest.ts';
import { ifGood, PublicationError } from '../../core/publication/errors.ts';
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { MetaFile, RootMetadata, SnapshotMetadata, TimestampMetadata } from '../../core/publication/metadata.ts';
import {
  verifyFirstRoot,
  verifyNextRoot,
  verifyOwnSnapshot,
  verifyOwnTimestamp,
  verifyTargets,
} from '../../core/publication/verify-roles.ts';
import { type FileFacts, rootIdOf } from '../../core/publication/writer.ts';
import { PublishError } from '../errors.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import { TIMESTAMP_PATH } from './files.ts';
import { fileOfRole, type OpenPublication } from './roles.ts';
import type { PublicationSource } from './sources.ts';

export interface SignedSnapshot {
  /** `N.snapshot.json`, byte for byte. */
  readonly bytes: Uint8Array;
  readonly snapshot: SnapshotMetadata;
  readonly file: FileFacts;
  /** Expiries of the roles; a key server shows them to its operator. */
  readonly expiries?: readonly RoleExpiry[];
}

export interface SnapshotPublication extends OpenPublication {
  readonly signed: SignedSnapshot;
}

export interface ShownPublication {
  readonly rootId: KeyId;
  /** The newest first. */
  readonly roots: readonly [RootMetadata, ...RootMetadata[]];
  /** `timestamp.json`, byte for byte. */
  readonly bytes: Uint8Array;
  readonly timestamp: TimestampMetadata;
  readonly snapshot: SignedSnapshot;
}

/** Reads the roots at a source, as far as each is signed by the one before, the newest first. */
async function rootsAt(source: PublicationSource): Promise<RootMetadata[]> {
  const roots: RootMetadata[] = [];
  while (roots.length < PUBLICATION_LIMITS.rootRotations) {
    const bytes = await source.read(fileOfRole('root', roots.length + 1), PUBLICATION_LIMITS.rootLength);
    if (bytes === undefined) break;
    const [before] = roots;
    const root = await ifGood(() =>
      before ? verifyNextRoot(bytes, before, READER_OPTIONS) : verifyFirstRoot(bytes, READER_OPTIONS),
    );
    if (root === undefined) break;
    roots.unshift(root);
  }
  return roots;
}

/**
 * Returns the roots up to the one in force, the newest first.
 *
 * @throws PublicationError `metadata-missing` where one does not follow from the one before
 */
export async function rootsOf({ state, source }: OpenPublication): Promise<RootMetadata[]> {
  const roots = await rootsAt(source);
  if (roots.length >= state.root.version) return roots;
  throw new PublicationError('metadata-missing', `root ${roots.length + 1} is missing, or follows from no other`);
}

/**
 * @param roots - of this site, the newest first; a replaced key counts for what it signed
 * @returns `undefined` if no key of these roots has signed it
 */
export async function signedSnapshot(
  bytes: Uint8Array,
  roots: readonly RootMetadata[],
): Promise<SignedSnapshot | undefined> {
  const snapshot = await underAny(roots, (root) => verifyOwnSnapshot(bytes, root, READER_OPTIONS));
  if (snapshot === undefined) return undefined;
  const file = { version: snapshot.version, length: bytes.length, sha256: await hexDigest(bytes) };
  return { bytes, snapshot, file };
}

/** Reads the snapshot of a number, if a key of these roots has signed it for that very number. */
export async function readSnapshot(
  version: number,
  source: PublicationSource,
  roots: readonly RootMetadata[],
): Promise<SignedSnapshot | undefined> {
  const bytes = await source.read(fileOfRole('snapshot', version), PUBLICATION_LIMITS.snapshotLength);
  const found = bytes && (await signedSnapshot(bytes, roots));
  return found?.file.version === version ? found : undefined;
}

/** Finds the snapshot that a timestamp names, by its hash, in the first of several sources that has it. Places that fail are passed over. */
export async function findSnapshot(
  named: MetaFile,
  sources: readonly PublicationSource[],
  roots: readonly RootMetadata[],
): Promise<SignedSnapshot | undefined> {
  for (const source of sources) {
    const found = await readSnapshot(named.version, source, roots).catch(() => undefined);
    if (found?.file.sha256 === named.sha256) return found;
  }
  return undefined;
}

/**
 * @param roots - of this site, the newest first
 * @throws PublicationError `metadata-missing`, `metadata-mismatch`, `metadata-signature`
 */
export async function openSnapshot(
  signed: SignedSnapshot,
  source: PublicationSource,
  roots: readonly RootMetadata[],
): Promise<SnapshotPublication> {
  const [root] = roots;
  const file = signed.snapshot.roles.get('targets');
  const path = file && fileOfRole('targets', file.version);
  const bytes = path && (await source.read(path, PUBLICATION_LIMITS.targetsLength));
  if (!root || !file || !bytes) throw new PublicationError('metadata-missing', `there is no ${path ?? 'targets.json'}`);
  const verify = ({ roles, keys }: RootMetadata) =>
    verifyTargets(bytes, 'targets', { roleKeys: roles.targets, keys }, file, READER_OPTIONS);
  const targets = (await underAny(roots.slice(1), verify)) ?? (await verify(root));
  return { signed, state: { root, snapshot: signed.snapshot, targets }, source };
}

/**
 * Reads and verifies roots, timestamp and snapshot of what a source shows. Whether they have expired is left to the caller.
 *
 * @param name - how messages name the source
 * @param rootId - whose publication it has to be. Default: any publisher's
 * @throws PublishError `publication-missing`; PublicationError `root-unexpected`, `metadata-signature`, `metadata-malformed`
 */
export async function openShown(source: PublicationSource, name: string, rootId?: KeyId): Promise<ShownPublication> {
  const [root, ...earlier] = await rootsAt(source);
  const first = await source.read(fileOfRole('root', 1), PUBLICATION_LIMITS.rootLength);
  const bytes = await source.read(TIMESTAMP_PATH, PUBLICATION_LIMITS.timestampLength);
  if (root === undefined || first === undefined || bytes === undefined) throw missing(name);
  const ownId = await rootIdOf(first);
  if (rootId !== undefined && ownId !== rootId)
    throw new PublicationError('root-unexpected', `${name} holds the publication of ${ownId}, not of ${rootId}`);
  const timestamp = await verifyOwnTimestamp(bytes, root, READER_OPTIONS);
  const roots = [root, ...earlier] as const;
  const snapshot = await findSnapshot(timestamp.snapshot, [source], roots);
  if (snapshot === undefined) throw missing(name);
  return { rootId: ownId, roots, bytes, timestamp, snapshot };
}

export function missing(source: string): PublishError {
  return new PublishError('publication-missing', `there is no publication in ${source}`, { fields: { source } });
}

/**
 * Verifies under the first of the roots that has the keys: those of an old publication may have been replaced since.
 *
 * @returns `undefined` where none has
 */
export async function underAny<Role>(
  roots: readonly RootMetadata[],
  verify: (root: RootMetadata) => Role | Promise<Role>,
): Promise<Role | undefined> {
  for (const root of roots) {
    const found = await ifGood(() => verify(root));
    if (found !== undefined) return found;
  }
  return undefined;
}
