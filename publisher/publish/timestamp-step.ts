/** The last step: the timestamp makes the publication visible. Never in place of something newer. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';
import { headersOf } from '../publication/files.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { checkNotNewer, type OwnAndThere, TIMESTAMP_PATH, timestampIfGood } from './overtaken.ts';

/** Signs a timestamp for the publication in `out`, newer than that one, and puts it there. */
export type RenewTimestamp = (newerThan: TimestampMetadata) => Promise<void>;

export interface TimestampOptions extends OwnAndThere {
  readonly renewTimestamp?: RenewTimestamp;
}

/** How often somebody else may put a timestamp there while we look. */
const ATTEMPTS = 5;

/**
 * Puts the timestamp of `out` at the target.
 *
 * @returns whether one was put; otherwise a newer one for the same publication was there
 * @throws PublishError `target-newer`, `target-forked`, `target-foreign`, `timestamp-outrun`
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
    if (saysAsMuch(there, own)) return false; // the key server has confirmed it meanwhile
    // The key server has confirmed the publication before, or knows of no withdrawal; readers who saw that take nothing older.
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

/** Whether readers learn from one timestamp all that another would tell them. */
function saysAsMuch(there: TimestampMetadata, own: TimestampMetadata): boolean {
  return (
    there.snapshot.sha256 === own.snapshot.sha256 && own.withdrawn.every((version) => there.withdrawn.includes(version))
  );
}

function outrun({ name }: Target): PublishError {
  return new PublishError(
    'timestamp-outrun',
    `the key server has put a newer timestamp at ${name} meanwhile, which says less than this one`,
    { hint: 'run the same command again, without --no-protect: it signs a newer one' },
  );
}
