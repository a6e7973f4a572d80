/** The last step: the timestamp makes the publication visible. Never in place of something newer; and a host's word is not taken for it. */
import { join } from 'node:path';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { StoredFile, Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';
import { headersOf } from '../publication/files.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { repeatsWithdrawn } from '../timestamp/withdrawn.ts';
import {
  type CheckedTimestamp,
  checkNotNewer,
  type OwnAndThere,
  TIMESTAMP_PATH,
  timestampIfGood,
} from './overtaken.ts';

/** Signs a timestamp for the publication in `out`, newer than that one, and puts it there. */
export type RenewTimestamp = (newerThan: TimestampMetadata) => Promise<void>;

export interface TimestampOptions extends OwnAndThere {
  readonly renewTimestamp?: RenewTimestamp;
}

/** What readers are to find: as it was signed, and what it says. */
export interface PutTimestamp extends CheckedTimestamp {
  /** Whether the target shows it, or takes files and goes on showing others. */
  readonly isShown: boolean;
}

/** How often it is put where somebody else changes it while we look, or the target does not show it. */
const ATTEMPTS = 5;

/**
 * Puts the timestamp of `out` at the target, unless a newer one that says as much is there, and looks whether it is shown.
 *
 * @returns what is there now, or ours where the target goes on showing something else: nothing that we have not verified
 * @throws PublishError `target-newer`, `target-forked`, `target-foreign`, `timestamp-outrun`, `output-incomplete`
 */
export async function putTimestamp(options: TimestampOptions): Promise<PutTimestamp> {
  for (let attempt = 0; ; attempt++) {
    const file = await options.target.head(TIMESTAMP_PATH);
    const there = await checkNotNewer(options);
    const own = await ownTimestamp(options);
    if (!there || isOfFuture(there.timestamp, options.publication) || takesPlaceOf(own, there)) {
      if (attempt >= ATTEMPTS) return { ...own, isShown: false };
      await putInPlaceOf(file, own, options);
    } else if (!isBefore(there, own) && saysAsMuch(there, own)) {
      return { ...there, isShown: true }; // ours, or the key server has confirmed it meanwhile
    } else {
      // The key server has confirmed the publication before, or one of the two knows of no withdrawal; readers who saw theirs take nothing older.
      if (!options.renewTimestamp || attempt >= ATTEMPTS) throw outrun(options.target);
      await options.renewTimestamp(there.timestamp);
    }
  }
}

/**
 * The timestamp in `out`, for the publication there.
 *
 * @throws PublishError `output-incomplete`
 */
export async function ownTimestamp({
  out,
  publication,
}: Pick<OwnAndThere, 'out' | 'publication'>): Promise<CheckedTimestamp> {
  const bytes = await publication.place.read(TIMESTAMP_PATH, PUBLICATION_LIMITS.timestampLength);
  const own = bytes && timestampIfGood(bytes, publication);
  if (own && own.timestamp.snapshot.sha256 === publication.state.timestamp.snapshot.sha256) return own;
  throw new PublishError('output-incomplete', `${join(out, TIMESTAMP_PATH)} was changed while it was being published`);
}

/** What was put there in the meantime is looked at like what was there before. */
async function putInPlaceOf(
  file: StoredFile | undefined,
  { bytes }: CheckedTimestamp,
  { target }: TimestampOptions,
): Promise<void> {
  const kind = { path: TIMESTAMP_PATH, kind: 'timestamp', immutable: false, optional: false } as const;
  try {
    await target.put(TIMESTAMP_PATH, bytes, { ...headersOf(kind), replacing: file?.tag ?? null });
  } catch (error) {
    if (!(error instanceof StorageError && error.code === 'target-changed')) throw error;
  }
}

/**
 * Whether no reader takes a timestamp yet (P8). Whoever has the timestamp key could otherwise have us sign ever later ones, which nobody takes
 * either: not even a withdrawal.
 */
export function isOfFuture({ version }: Pick<TimestampMetadata, 'version'>, { now }: OpenedPublication): boolean {
  return version > Math.max(now, nowInSeconds()) + PUBLICATION_LIMITS.clockTolerance; // uploads take time
}

function isBefore({ timestamp: there }: CheckedTimestamp, { timestamp: own }: CheckedTimestamp): boolean {
  return there.version < own.version;
}

/** Whether nothing is lost where ours stands in the place of theirs. */
function takesPlaceOf(own: CheckedTimestamp, there: CheckedTimestamp): boolean {
  return isBefore(there, own) && repeatsWithdrawn(own.timestamp, there.timestamp);
}

/** Whether readers learn from one timestamp all that another would tell them. */
export function saysAsMuch({ timestamp: there }: CheckedTimestamp, { timestamp: own }: CheckedTimestamp): boolean {
  return (
    there.snapshot.sha256 === own.snapshot.sha256 && own.withdrawn.every((version) => there.withdrawn.includes(version))
  );
}

function outrun({ name }: Target): PublishError {
  return new PublishError(
    'timestamp-outrun',
    `the timestamp at ${name}, which somebody else has signed, is newer than this one or withdraws what this one does not know of`,
    {
      hint: 'run the same command again, without --no-protect: it signs a newer one; if that goes on, and neither your key server nor a colleague does it, somebody else has your timestamp key: "wispr keys rotate timestamp"',
    },
  );
}

/** Said where {@link PutTimestamp.isShown} is `false`. */
export function reverted({ name }: Target): PublishError {
  return new PublishError(
    'target-reverted',
    `${name} took the timestamp of this publication, and goes on showing something else`,
    { hint: 'run the same command again; if that does not help, ask whoever runs the host' },
  );
}
