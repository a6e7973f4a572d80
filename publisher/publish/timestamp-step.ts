/** The last step: the timestamp makes the publication visible. Never in place of something newer. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PublicationError } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata, TimestampMetadata } from '../../core/publication/metadata.ts';
import { METADATA_PATH, metadataFile, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { verifyNextRoot, verifyTimestamp } from '../../core/publication/verify-roles.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import { headersOf } from '../publication/files.ts';
import type { OpenedPublication } from '../publication/open.ts';

export const TIMESTAMP_PATH = METADATA_PATH + TIMESTAMP_FILE;

/** Signs a timestamp for the publication in `out`, newer than that one, and puts it there. */
export type RenewTimestamp = (newerThan: TimestampMetadata) => Promise<void>;

export interface TimestampOptions {
  readonly out: string;
  readonly target: Target;
  readonly publication: OpenedPublication;
  readonly renewTimestamp?: RenewTimestamp;
}

/** How often somebody else may put a timestamp there while we look. */
const ATTEMPTS = 5;

/**
 * Makes sure that the target is ours, and has nothing newer.
 *
 * @returns the timestamp there, if it is a good one
 * @throws PublishError `target-foreign`, `target-newer`
 */
export async function checkNotNewer({
  target,
  publication,
  out,
}: TimestampOptions): Promise<TimestampMetadata | undefined> {
  const rootPath = `${METADATA_PATH}1.root.json`;
  const root = await readBounded(target, rootPath, PUBLICATION_LIMITS.rootLength);
  if (root && !(await readFile(join(out, rootPath))).equals(root))
    throw new PublishError(
      'target-foreign',
      `${target.name} holds the site of another publisher, and was not touched`,
      {
        hint: 'name another target, or remove what is there',
      },
    );
  await checkNoNewerRoot(target, publication);
  const bytes = await readBounded(target, TIMESTAMP_PATH, PUBLICATION_LIMITS.timestampLength);
  const there = bytes && timestampIfGood(bytes, publication);
  if (there) checkSnapshot(there, publication, target);
  return there;
}

/**
 * Puts the timestamp of `out` at the target.
 *
 * @returns whether one was put; otherwise a newer one for the same publication was there
 * @throws PublishError `target-newer`, `target-foreign`, `timestamp-outrun`
 */
export async function putTimestamp(options: TimestampOptions): Promise<boolean> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await tryToPut(options);
    } catch (error) {
      if (!(error instanceof StorageError && error.code === 'target-changed') || attempt >= ATTEMPTS) throw error;
    }
  }
}

async function tryToPut(options: TimestampOptions): Promise<boolean> {
  const { out, target, publication, renewTimestamp } = options;
  const file = await target.head(TIMESTAMP_PATH);
  const there = await checkNotNewer(options);
  const local = join(out, TIMESTAMP_PATH);
  let bytes = await readFile(local);
  let own = timestampIfGood(bytes, publication);
  if (there && own && there.version >= own.version && !isOfFuture(there, publication)) {
    if (there.snapshot.version === own.snapshot.version) return false; // the key server has confirmed it meanwhile
    // The key server has confirmed the publication before; readers who saw that take nothing older.
    if (!renewTimestamp) throw outrun(target);
    await renewTimestamp(there);
    bytes = await readFile(local);
    own = timestampIfGood(bytes, publication);
  }
  if (own === undefined || own.snapshot.sha256 !== publication.state.timestamp.snapshot.sha256)
    throw new PublishError('output-incomplete', `${local} was changed while it was being published`);
  const kind = { path: TIMESTAMP_PATH, kind: 'timestamp', immutable: false, optional: false } as const;
  await target.put(TIMESTAMP_PATH, bytes, { ...headersOf(kind), replacing: file?.tag ?? null });
  return true;
}

/**
 * Whether no reader takes a timestamp yet (P8). Whoever has the timestamp key could otherwise have us sign ever later ones, which nobody takes
 * either: not even a withdrawal.
 */
export function isOfFuture({ version }: TimestampMetadata, { now }: OpenedPublication): boolean {
  return version > Math.max(now, nowInSeconds()) + PUBLICATION_LIMITS.clockTolerance; // uploads take time
}

/** A timestamp that our own root's keys have signed; anything else is as if it were not there. */
export function timestampIfGood(bytes: Uint8Array, { state }: OpenedPublication): TimestampMetadata | undefined {
  try {
    return verifyTimestamp(bytes, state.root, undefined, READER_OPTIONS);
  } catch (error) {
    if (error instanceof PublicationError) return undefined;
    throw error;
  }
}

/** Keys that an older root does not know sign what is there: nothing of it would count below as newer. */
async function checkNoNewerRoot(target: Target, { state: { root } }: OpenedPublication): Promise<void> {
  const path = `${METADATA_PATH}${metadataFile('root', root.version + 1)}`;
  const bytes = await readBounded(target, path, PUBLICATION_LIMITS.rootLength);
  if (bytes === undefined || !isNextRoot(bytes, root)) return;
  throw newer(`${target.name} has root ${root.version + 1}, and this has ${root.version}`);
}

function isNextRoot(bytes: Uint8Array, root: RootMetadata): boolean {
  try {
    return verifyNextRoot(bytes, root, READER_OPTIONS).version > root.version;
  } catch (error) {
    if (error instanceof PublicationError) return false; // anybody's
    throw error;
  }
}

function checkSnapshot({ snapshot }: TimestampMetadata, { state }: OpenedPublication, { name }: Target): void {
  const own = state.timestamp.snapshot;
  if (snapshot.version < own.version || (snapshot.version === own.version && snapshot.sha256 === own.sha256)) return;
  throw newer(`${name} has publication ${snapshot.version}, and this is ${own.version}`);
}

function newer(what: string): PublishError {
  return new PublishError('target-newer', `somebody else has published: ${what}`, {
    hint: 'publish from where that was made, or bring its publisher.keys and its "out" here first',
  });
}

function outrun({ name }: Target): PublishError {
  return new PublishError(
    'timestamp-outrun',
    `the key server has confirmed the publication before at ${name} meanwhile`,
    {
      hint: 'run "wispr publish" again: it signs a newer timestamp',
    },
  );
}

/** What is longer than any is none. */
async function readBounded(target: Target, path: string, maximum: number): Promise<Uint8Array | undefined> {
  const file = await target.head(path);
  return file && file.length <= maximum ? target.get(path, maximum) : undefined;
}
