/** A publication as its snapshot describes it, whether or not a timestamp names it yet. */
import { hexDigest } from '../../core/encoding/digest.ts';
import type { TrustedState } from '../../core/publication/client.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { MetaFile, RootMetadata, SnapshotMetadata } from '../../core/publication/metadata.ts';
import { verifyOwnSnapshot, verifyTargets } from '../../core/publication/verify-roles.ts';
import type { FileFacts } from '../../core/publication/writer.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import type { PublicationPlace } from './open.ts';
import { fileOfRole } from './roles.ts';
import { underAny } from './roots.ts';

/** A snapshot that a key of this site has signed. */
export interface SignedSnapshot {
  /** `N.snapshot.json`, byte for byte. */
  readonly bytes: Uint8Array;
  readonly snapshot: SnapshotMetadata;
  /** As a timestamp names it. */
  readonly file: FileFacts;
  /** When each role expires; a key server shows them to its operator. */
  readonly expiries?: readonly RoleExpiry[];
}

/** A snapshot, and the list `targets` that it names. */
export interface SnapshotPublication {
  readonly signed: SignedSnapshot;
  readonly state: Omit<TrustedState, 'timestamp'>;
  readonly place: PublicationPlace;
}

/**
 * Verifies a snapshot of this site.
 *
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
  place: PublicationPlace,
  roots: readonly RootMetadata[],
): Promise<SignedSnapshot | undefined> {
  const bytes = await place.read(fileOfRole('snapshot', version), PUBLICATION_LIMITS.snapshotLength);
  const found = bytes && (await signedSnapshot(bytes, roots));
  return found?.file.version === version ? found : undefined;
}

/** Finds the snapshot that a timestamp names, by its hash, in the first of several places that has it. Places that fail are passed over. */
export async function findSnapshot(
  named: MetaFile,
  places: readonly PublicationPlace[],
  roots: readonly RootMetadata[],
): Promise<SignedSnapshot | undefined> {
  for (const place of places) {
    const found = await readSnapshot(named.version, place, roots).catch(() => undefined);
    if (found?.file.sha256 === named.sha256) return found;
  }
  return undefined;
}

/**
 * Opens the publication of a snapshot.
 *
 * @param roots - of this site, the newest first
 * @throws PublicationError `metadata-missing`, `metadata-mismatch`, `metadata-signature`
 */
export async function openSnapshot(
  signed: SignedSnapshot,
  place: PublicationPlace,
  roots: readonly RootMetadata[],
): Promise<SnapshotPublication> {
  const [root] = roots;
  const file = signed.snapshot.roles.get('targets');
  const path = file && fileOfRole('targets', file.version);
  const bytes = path && (await place.read(path, PUBLICATION_LIMITS.targetsLength));
  if (!root || !file || !bytes) throw new PublicationError('metadata-missing', `there is no ${path ?? 'targets.json'}`);
  const verify = ({ roles, keys }: RootMetadata) =>
    verifyTargets(bytes, 'targets', { roleKeys: roles.targets, keys }, file, READER_OPTIONS);
  const targets = (await underAny(roots.slice(1), verify)) ?? (await verify(root));
  return { signed, state: { root, snapshot: signed.snapshot, targets }, place };
}
