/** The published state, as far as it matters for the next publication: numbers never go back, and no list leaves a snapshot. */
import { join } from 'node:path';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { hexDigest } from '../../core/encoding/digest.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { ifGood } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata, SnapshotMetadata } from '../../core/publication/metadata.ts';
import { METADATA_PATH, metadataFile, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { verifyNextRoot, verifyOwnSnapshot } from '../../core/publication/verify-roles.ts';
import type { FileFacts } from '../../core/publication/writer.ts';
import { type CurrentTimestamp, verifiedTimestamp } from '../authority/authority.ts';
import { PublishError } from '../errors.ts';
import { readIfThere } from '../keys/file-update.ts';
import type { OpenKeyStore } from '../keys/key-store.ts';
import { READER_OPTIONS, verifiedRoots } from '../keys/roots.ts';
import { sourceInDirectory } from '../publication/sources.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { RoleRow } from '../workspace/index/schema.ts';

/** The highest publication that an authority or a target has, verified. */
export interface Published {
  readonly snapshot: SnapshotMetadata & { readonly closed?: boolean };
  readonly file: FileFacts;
}

/** Reads the timestamp in `out`, if the keys of this root signed it. */
export async function timestampIn(out: string, root: RootMetadata): Promise<CurrentTimestamp | undefined> {
  const bytes = await sourceInDirectory(out).read(METADATA_PATH + TIMESTAMP_FILE, PUBLICATION_LIMITS.timestampLength);
  return bytes && verifiedTimestamp(bytes, [root]);
}

/** Reads the publication that `out` shows, if the keys of this root signed it. */
export async function publishedIn(out: string, root: RootMetadata): Promise<Published | undefined> {
  const named = (await timestampIn(out, root))?.timestamp.snapshot;
  if (named === undefined) return undefined;
  const path = METADATA_PATH + metadataFile('snapshot', named.version);
  const bytes = await sourceInDirectory(out).read(path, PUBLICATION_LIMITS.snapshotLength);
  const snapshot = bytes && (await ifGood(() => verifyOwnSnapshot(bytes, root, READER_OPTIONS)));
  if (!bytes || !snapshot || (await hexDigest(bytes)) !== named.sha256) return undefined;
  return { snapshot, file: { version: named.version, length: bytes.length, sha256: named.sha256 } };
}

/** Returns lists of a publication that the index does not have, or has in an earlier version: readers refuse anything lower. */
export function unknownLists(index: PublisherIndex, above: Published | undefined): RoleRow[] {
  const rows = index.roles();
  const published = [...(above?.snapshot.roles ?? []), ...(above ? [['snapshot', above.file] as const] : [])];
  return published.flatMap(([name, { version, length = 0, sha256 = '' }]) => {
    const own = rows.get(name);
    const isOlder = own === undefined || own.version < version || (own.version === version && own.sha256 !== sha256);
    return isOlder ? [{ name, version, length, sha256, expires: 0 }] : [];
  });
}

/** Has the lists signed again that the index does not know, under higher numbers. */
export function signAbove(index: PublisherIndex, unknown: readonly RoleRow[]): void {
  if (unknown.length === 0) return;
  const snapshot = unknown.find(({ name }) => name === 'snapshot') ?? index.roles().get('snapshot');
  const signedAnew = snapshot ? [{ ...snapshot, expires: 0 }] : [];
  index.transaction(() => index.storeRoles([...unknown, ...signedAnew]));
}

/**
 * Tells whether the key store is older than the last publication: then any set key in it may have been replaced since.
 *
 * @param known - the last publication that the key store has signed
 */
export function areKeysBehind(index: PublisherIndex, known: number, above: Published | undefined): boolean {
  const version = Number(index.fact('version') ?? 0);
  if (known < version) return true;
  if (above === undefined) return false;
  const { file, snapshot } = above;
  if (snapshot.closed) return known < file.version - 1; // a copy that is behind may withdraw
  // Copies may have made the same number.
  const own = version === file.version ? index.roles().get('snapshot') : undefined;
  return known < file.version || (own?.version === file.version && own.sha256 !== file.sha256);
}

/** @param details - what is known of the later publication, as the rest of the sentence */
export function behind(version: number | undefined, details = ''): PublishError {
  const what = version === undefined ? 'the last publication' : `publication ${version}`;
  const message = `${what} was made in another copy of this workspace, or with a later publisher.keys${details}`;
  return new PublishError('workspace-behind', message, { fields: { ...(version !== undefined && { version }) } });
}

/**
 * Refuses to sign below a root that the key store does not know: no reader would accept it.
 *
 * @throws PublishError `key-store-refused`
 */
export async function checkRootsKnown(out: string, { roots }: Pick<OpenKeyStore, 'roots'>): Promise<void> {
  const rootAt = (version: number) => readIfThere(join(out, METADATA_PATH, metadataFile('root', version)));
  const version = await unknownRoot(rootAt, roots, await verifiedRoots(roots));
  if (version !== undefined)
    throw new PublishError('key-store-refused', `${out} has a root ${version} that publisher.keys does not know`);
}

/** Finds a root at a place that follows one of `roots`, the newest first, and is none of them; what is not good there is no root. */
export async function unknownRoot(
  rootAt: (version: number) => Promise<Uint8Array | undefined>,
  rootFiles: readonly Uint8Array[],
  roots: readonly RootMetadata[],
): Promise<number | undefined> {
  for (const trusted of roots) {
    const version = trusted.version + 1;
    const [found, own] = [await rootAt(version), rootFiles[version - 1]];
    if (found && own && equalBytes(found, own)) return undefined;
    const isNext = found && (await ifGood(() => verifyNextRoot(found, trusted, READER_OPTIONS)));
    if (isNext && !(own && isSameText(found, own))) return version;
  }
  return undefined;
}

/** Compares roots, which may have other signatures elsewhere. */
function isSameText(one: Uint8Array, other: Uint8Array): boolean {
  return equalBytes(openEnvelope(one, 'root').message, openEnvelope(other, 'root').message);
}
