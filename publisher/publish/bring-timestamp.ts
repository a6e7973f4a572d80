/**
 * Takes a timestamp that was signed apart from a publication (`wispr timestamp`, `wispr withdraw`) to where readers find it. Somebody else may
 * have confirmed the publication in the meantime, so the newest one is fetched first, and what is signed then is newer than that.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { replaceOutputFile } from '../protect/replace-output-file.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { openPublication } from '../publication/open.ts';
import { fileOfRole } from '../publication/roles.ts';
import { type Workspace, withLock } from '../workspace.ts';
import { expiriesOf } from './expiries.ts';
import { fetchTimestamp, type KeyServerAccess, tellOfPublication } from './key-server.ts';
import { checkIsThere, checkNotNewer, TIMESTAMP_PATH, timestampIfGood } from './overtaken.ts';
import { placeInDirectory } from './places.ts';
import { isOfFuture, ownTimestamp, putTimestamp, reverted } from './timestamp-step.ts';

export interface TimestampPlaces {
  /** The protected site. */
  readonly out: string;
  /** Left out where `out` itself is what is served. */
  readonly target?: Target | undefined;
  /** Left out where the key server is told by hand. */
  readonly keyServer?: KeyServerAccess | undefined;
  /** Seconds since 1970. */
  readonly now: number;
}

export interface AdoptPlaces extends TimestampPlaces {
  readonly workspace: Pick<Workspace, 'lock'>;
}

/**
 * Takes over the newest timestamp that was signed for the publication in `out`, so that the next one is newer, and keeps what was withdrawn.
 *
 * @throws PublishError `target-newer`, `target-forked`, `target-foreign`, `target-behind`, `key-server-refused`, `workspace-busy`; PublicationError
 */
export async function adoptTimestamp({ out, target, keyServer, now, workspace }: AdoptPlaces): Promise<void> {
  const publication = await openPublication(placeInDirectory(out), { now });
  if (target) {
    await checkNotNewer({ out, target, publication });
    await checkIsThere({ out, target, publication });
  }
  const elsewhere = [
    await target?.get(TIMESTAMP_PATH, PUBLICATION_LIMITS.timestampLength),
    keyServer && (await fetchTimestamp(keyServer)),
  ];
  for (const bytes of elsewhere) {
    if (!bytes || !isNewerOfSame(bytes, publication)) continue;
    await withLock(workspace, () => adoptNewer(bytes, { out, now }));
  }
}

/** Another publication may have been made in `out` while others were asked. */
async function adoptNewer(bytes: Uint8Array, { out, now }: Pick<TimestampPlaces, 'out' | 'now'>): Promise<void> {
  const publication = await openPublication(placeInDirectory(out), { now });
  if (isNewerOfSame(bytes, publication)) await replaceOutputFile(join(out, TIMESTAMP_PATH), bytes);
}

/**
 * Puts the timestamp in `out` where readers find it: at the target, and at the key server, which pushes it on.
 *
 * @throws PublishError `timestamp-outrun` where somebody else has confirmed it meanwhile, and knows nothing of what is withdrawn by this;
 * `target-newer`, `target-forked`, `target-behind`, `target-reverted`, `key-server-refused`; StorageError; PublicationError
 */
export async function bringTimestamp({ out, target, keyServer, now }: TimestampPlaces): Promise<void> {
  const publication = await openPublication(placeInDirectory(out), { now });
  const { bytes: timestamp } = await ownTimestamp({ out, publication });
  if (target) await checkIsThere({ out, target, publication });
  const put = target && (await putTimestamp({ out, target, publication }));
  if (keyServer) {
    const expiries = await expiriesOf(publication);
    await tellOfPublication(keyServer, { timestamp, roots: await laterRoots(out, publication), expiries });
  }
  if (target && !put?.isShown) throw reverted(target);
}

/** All roots but the first. */
export async function laterRoots(out: string, { state }: OpenedPublication): Promise<Uint8Array[]> {
  const roots: Uint8Array[] = [];
  for (let version = 2; version <= state.root.version; version++)
    roots.push(await readFile(join(out, fileOfRole('root', version))));
  return roots;
}

/** Whether it is a later timestamp for the very same publication, and none of the future. */
function isNewerOfSame(bytes: Uint8Array, publication: OpenedPublication): boolean {
  const timestamp = timestampIfGood(bytes, publication)?.timestamp;
  const own = publication.state.timestamp;
  if (timestamp === undefined || isOfFuture(timestamp, publication)) return false;
  return timestamp.snapshot.sha256 === own.snapshot.sha256 && timestamp.version > own.version;
}
