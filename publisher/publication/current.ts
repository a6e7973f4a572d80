/** The publication that a directory shows: what its `timestamp.json` names. */
import type { KeyId } from '../../core/keys/key-id.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata, TimestampMetadata } from '../../core/publication/metadata.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { verifyOwnTimestamp } from '../../core/publication/verify-roles.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import { PublishError } from '../errors.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import type { PublicationPlace } from './open.ts';
import { fileOfRole } from './roles.ts';
import { rootsAt } from './roots.ts';
import { findSnapshot, type SignedSnapshot } from './snapshot.ts';

export interface ShownPublication {
  readonly rootId: KeyId;
  /** The newest first. */
  readonly roots: readonly [RootMetadata, ...RootMetadata[]];
  /** `timestamp.json`, byte for byte. */
  readonly bytes: Uint8Array;
  readonly timestamp: TimestampMetadata;
  readonly snapshot: SignedSnapshot;
}

/**
 * Reads and verifies roots, timestamp and snapshot. Whether they have expired is left to the caller.
 *
 * @param name - how messages name the place
 * @param rootId - whose publication it has to be. Default: any publisher's
 * @throws PublishError `publication-missing`; PublicationError `root-unexpected`, `metadata-signature`, `metadata-malformed`
 */
export async function openShown(place: PublicationPlace, name: string, rootId?: KeyId): Promise<ShownPublication> {
  const [root, ...earlier] = await rootsAt(place);
  const first = await place.read(fileOfRole('root', 1), PUBLICATION_LIMITS.rootLength);
  const bytes = await place.read(METADATA_PATH + TIMESTAMP_FILE, PUBLICATION_LIMITS.timestampLength);
  if (root === undefined || first === undefined || bytes === undefined) throw missing(name);
  const ownId = await rootIdOf(first);
  if (rootId !== undefined && ownId !== rootId)
    throw new PublicationError('root-unexpected', `${name} holds the publication of ${ownId}, not of ${rootId}`);
  const timestamp = verifyOwnTimestamp(bytes, root, READER_OPTIONS);
  const roots = [root, ...earlier] as const;
  const snapshot = await findSnapshot(timestamp.snapshot, [place], roots);
  if (snapshot === undefined) throw missing(name);
  return { rootId: ownId, roots: [...roots], bytes, timestamp, snapshot };
}

export function missing(place: string): PublishError {
  return new PublishError('publication-missing', `there is no publication in ${place}`, { fields: { place } });
}
