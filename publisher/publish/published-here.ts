/** What was published from here last, where the target does not show it any more: its metadata, each by its hash, wherever they still are. */
import { PublicationError } from '../../core/publication/errors.ts';
import type { RootMetadata, SnapshotMetadata, TargetsMetadata } from '../../core/publication/metadata.ts';
import { verifySnapshot, verifyTargets } from '../../core/publication/verify-roles.ts';
import type { FileFacts } from '../../core/publication/writer.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import type { OpenedPublication, PublicationPlace } from '../publication/open.ts';
import { fileOfRole, type NamedRoles } from '../publication/roles.ts';
import { rootsOf, underAny } from '../publication/roots.ts';
import type { PublishedSnapshot } from '../published-places.ts';
import type { FilesByHash } from './files-by-hash.ts';

export interface PublishedFiles {
  readonly snapshot: SnapshotMetadata;
  readonly targets: TargetsMetadata;
}

/**
 * What its delegated roles are found by. A list that is nowhere any more is one that cannot be read.
 *
 * @param publication - the one in `out`, which has the roots
 * @returns `undefined` where its snapshot, or the list of all others, is nowhere any more
 */
export async function openPublished(
  { version, sha256 }: PublishedSnapshot,
  publication: OpenedPublication,
  files: FilesByHash,
): Promise<NamedRoles | undefined> {
  const bytes = await files.read(fileOfRole('snapshot', version), { length: undefined, sha256 });
  if (bytes === undefined) return undefined;
  const facts = { version, length: bytes.length, sha256 };
  const state = await underAny(await rootsOf(publication), (root) => filesUnder(root, { bytes, facts, files }));
  return state && { state, place: placeOf(state.snapshot, files) };
}

/** @throws PublicationError where readers who have this root do not take it */
export async function filesUnder(
  root: RootMetadata,
  { bytes, facts, files }: { bytes: Uint8Array; facts: FileFacts; files: FilesByHash },
): Promise<PublishedFiles> {
  const snapshot = await verifySnapshot(bytes, root, facts, READER_OPTIONS);
  const file = snapshot.roles.get('targets');
  const found = file && (await files.read(fileOfRole('targets', file.version), file));
  if (!found) throw new PublicationError('metadata-missing', 'there is no list of targets');
  const { roles, keys } = root;
  const targets = await verifyTargets(found, 'targets', { roleKeys: roles.targets, keys }, file, READER_OPTIONS);
  return { snapshot, targets };
}

function placeOf({ roles }: SnapshotMetadata, files: FilesByHash): PublicationPlace {
  const byPath = new Map([...roles].map(([role, file]) => [fileOfRole(role, file.version), file]));
  return {
    read: async (path) => {
      const file = byPath.get(path);
      return file && files.read(path, file);
    },
  };
}
