/** The order of publications (docs/spec/publication.md, R1): by snapshot version, then by timestamp version. The greater pair wins. */
import type { TimestampMetadata } from './metadata.ts';

/** Versions that tell which publication of a site is current, and when that was last confirmed. */
export interface PublicationPair {
  /** Version of the snapshot, which is that of the publication. */
  readonly snapshot: number;
  readonly timestamp: number;
}

function pairOf({ version, snapshot }: TimestampMetadata): PublicationPair {
  return { snapshot: snapshot.version, timestamp: version };
}

/** @returns a negative number where `a` is the lower pair, a positive one where it is the greater, 0 where they are equal */
export function comparePairs(a: PublicationPair, b: PublicationPair): number {
  return a.snapshot - b.snapshot || a.timestamp - b.timestamp;
}

/** Tells whether one timestamp takes the place of another. */
export function isGreater(a: TimestampMetadata, b: TimestampMetadata): boolean {
  return comparePairs(pairOf(a), pairOf(b)) > 0;
}
