/**
 * What the key server knows as withdrawn, of which nothing that was signed brings anything back. Whoever has the timestamp's key could claim
 * anything of what is still to come, so of what is above the publication that was handed over, numbers alone count until that is handed over.
 */
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { highestVersions, withdrawsItself } from '../../core/publication/withdrawals.ts';

/** One publication, whatever else has its number. */
export interface NamedPublication {
  readonly version: number;
  /** Of the snapshot, in hexadecimal digits. */
  readonly sha256: string;
}

export interface Withdrawals {
  /** Versions, ascending, first those that are no higher than the publication of the timestamp that counts. */
  readonly withdrawn: readonly number[];
  /** Publications above the one that was handed over that a timestamp of their own withdraws, in the order in which they were learned of. */
  readonly ended: readonly NamedPublication[];
}

export const NOTHING_WITHDRAWN: Withdrawals = { withdrawn: [], ended: [] };

interface Known extends Withdrawals {
  /** Version of the publication of the timestamp that counts. */
  readonly snapshot: number;
  /** Version of the publication that was handed over last. */
  readonly handedOver: number;
}

/** How many are kept in {@link Withdrawals.ended}: somebody with the key could make up any number of them. */
const ENDED = 256;

/** The publication that a timestamp names. Where readers check as strictly as here, its hash is there. */
export function namedBy({ snapshot: { version, sha256 = '' } }: TimestampMetadata): NamedPublication {
  return { version, sha256 };
}

export function isEnded({ withdrawn, ended }: Withdrawals, one: NamedPublication): boolean {
  return withdrawn.includes(one.version) || ended.some((other) => isSame(one, other));
}

/**
 * What is known together with what a good timestamp says, however old that is: of lower numbers than that of the publication that it names, and
 * of this very one.
 *
 * @param current - the timestamp that counts; `undefined` where the keys that signed it are none any more
 */
export function withdrawalsWith(
  { withdrawn, ended, snapshot, handedOver }: Known,
  current: TimestampMetadata | undefined,
  found: TimestampMetadata,
): Withdrawals {
  const named = namedBy(found);
  const isCurrent = current !== undefined && isSame(named, namedBy(current));
  const counts = found.withdrawn.filter((one) => one < named.version || (one === named.version && isCurrent));
  const isNews = withdrawsItself(found) && named.version > handedOver && !ended.some((one) => isSame(one, named));
  return {
    withdrawn: boundedVersions([...withdrawn, ...counts], snapshot),
    ended: isNews ? [...ended, named].slice(-ENDED) : ended,
  };
}

/** What outlives the hand-over of a publication. */
export function withdrawalsAfter({ withdrawn, ended, handedOver }: Known, named: NamedPublication): Withdrawals {
  const past = ended.filter((one) => one.version < named.version || isSame(one, named));
  return {
    withdrawn: [...withdrawn.filter((version) => version <= handedOver), ...past.map(({ version }) => version)],
    ended: ended.filter(({ version }) => version > named.version),
  };
}

/** What is above the publication that counts takes no room from what is not. */
export function boundedVersions(versions: readonly number[], snapshot: number): number[] {
  const highest = (isAbove: boolean) =>
    highestVersions(
      versions.filter((version) => version > snapshot === isAbove),
      PUBLICATION_LIMITS.withdrawnKept,
    );
  return [...highest(false), ...highest(true)];
}

function isSame(one: NamedPublication, other: NamedPublication): boolean {
  return one.version === other.version && one.sha256 === other.sha256;
}
