/** Puts a timestamp where readers find it: R1 and R4 of docs/spec/publication.md, section 8. */
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata } from '../../core/publication/metadata.ts';
import { isGreater } from '../../core/publication/pair.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { type CurrentTimestamp, publicationOther, verifiedTimestamp } from '../authority/authority.ts';
import { PublishError } from '../errors.ts';
import { isOfFuture } from '../publication/clock.ts';
import { headersOf } from '../publication/files.ts';
import { placeAtTarget, readBounded } from '../publication/places.ts';
import { fileOfRole } from '../publication/roles.ts';
import { findSnapshot } from '../publication/snapshot.ts';
import { TIMESTAMP_PATH } from './places.ts';

/** What has to lie at a target before it may show a timestamp. */
export interface Shown {
  readonly timestamp: CurrentTimestamp;
  /** The newest root, whose key has signed the timestamp. */
  readonly root: RootMetadata;
  /** Its file. */
  readonly rootFile: Uint8Array;
  /** The snapshot that the timestamp names. */
  readonly snapshotFile: Uint8Array;
  /** Seconds since 1970. */
  readonly now: number;
}

/** How often another process may change the timestamp between a look and a put. */
const ATTEMPTS = 5;

/**
 * Puts a timestamp, unless the target has a greater one. What counts there is signed under the newest root, not in the future, and its snapshot lies
 * there too: the key of timestamps alone makes no publication.
 *
 * @returns the timestamp there, if it names a higher publication; nothing was put then
 * @throws PublishError `target-behind` if the target lacks the root or the snapshot, `publication-other`; StorageError
 */
export async function showTimestamp(target: Target, mine: Shown): Promise<CurrentTimestamp | undefined> {
  const { timestamp, root, rootFile, snapshotFile, now } = mine;
  const { snapshot } = timestamp.timestamp;
  for (let attempt = 1; ; attempt++) {
    const file = await target.head(TIMESTAMP_PATH);
    const there = file && (await timestampAt(target, root, now));
    if (there && !isGreater(timestamp.timestamp, there.timestamp)) {
      const other = there.timestamp.snapshot;
      if (other.version > snapshot.version) return there;
      if (other.sha256 !== snapshot.sha256) throw publicationOther(snapshot.version, target.name);
      return undefined;
    }
    if (!(await has(target, fileOfRole('root', root.version), rootFile))) throw behind(target, `root ${root.version}`);
    if (!(await has(target, fileOfRole('snapshot', snapshot.version), snapshotFile)))
      throw behind(target, `publication ${snapshot.version}`);
    try {
      const headers = headersOf({ path: TIMESTAMP_PATH, kind: 'timestamp', immutable: false, optional: false });
      await target.put(TIMESTAMP_PATH, timestamp.bytes, { ...headers, replacing: file?.tag ?? null });
      return undefined;
    } catch (error) {
      const isChanged = error instanceof StorageError && error.code === 'target-changed';
      if (!isChanged || attempt === ATTEMPTS) throw error;
    }
  }
}

async function timestampAt(target: Target, root: RootMetadata, now: number): Promise<CurrentTimestamp | undefined> {
  const bytes = await readBounded(target, TIMESTAMP_PATH, PUBLICATION_LIMITS.timestampLength);
  const found = bytes && (await verifiedTimestamp(bytes, [root]));
  if (!found || isOfFuture(found.timestamp, now)) return undefined;
  const isThere = await findSnapshot(found.timestamp.snapshot, [placeAtTarget(target)], [root]);
  return isThere && found;
}

async function has(target: Target, path: string, bytes: Uint8Array): Promise<boolean> {
  const file = await target.head(path);
  return file !== undefined && target.holds(file, bytes);
}

function behind(target: Target, what: string): PublishError {
  return new PublishError('target-behind', `${target.name} does not have ${what}`, {
    fields: { target: target.name },
  });
}
