/** Clocks that are wrong: what is signed in the future no reader takes (P8), and what is signed after it has to be later still. */
import { PublicationError } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { isoTime } from '../../core/publication/verify-roles.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';

/** Whether a timestamp was signed in what is the future for this machine (P8): then it counts for nothing. */
export function isOfFuture({ version }: Pick<TimestampMetadata, 'version'>, now: number): boolean {
  return version > now + PUBLICATION_LIMITS.clockTolerance;
}

/**
 * @param name - how the message names the timestamp
 * @throws PublicationError `clock-off`
 */
export function checkSignedInPast(timestamp: Pick<TimestampMetadata, 'version'>, now: number, name: string): void {
  if (!isOfFuture(timestamp, now)) return;
  const times = `${isoTime(timestamp.version)}; this machine's clock says ${isoTime(now)}`;
  throw new PublicationError(
    'clock-off',
    `${name} was signed at ${times}. If this clock is right, "wispr keys rotate timestamp" and "wispr publish" begin anew`,
  );
}

/**
 * Compares this machine's clock with those of targets that have one (buckets). One that does not answer has no say in this.
 *
 * @param now - what this machine's clock says, seconds since 1970
 * @throws PublishError `clock-off`
 */
export async function checkClock(now: number, targets: readonly Target[]): Promise<void> {
  const times = await Promise.all(targets.map(async (target) => ({ target, time: await timeOf(target) })));
  const other = times.find(({ time }) => time !== undefined && now > time + PUBLICATION_LIMITS.clockTolerance);
  if (other?.time === undefined) return;
  const { target, time } = other;
  throw new PublishError(
    'clock-off',
    `this machine's clock says ${isoTime(now)}, and that of ${target.name} says ${isoTime(Math.trunc(time))}`,
    { fields: { target: target.name } },
  );
}

async function timeOf(target: Target): Promise<number | undefined> {
  if (!target.time) return undefined;
  await target.head(METADATA_PATH + TIMESTAMP_FILE).catch(() => undefined);
  return target.time();
}
