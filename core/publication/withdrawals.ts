/** What a reader remembers of withdrawn publications: docs/spec/publication.md, section 7. */
import { fromUtf8, utf8 } from '../encoding/bytes.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import type { RootMetadata, SnapshotMetadata, TimestampMetadata } from './metadata.ts';

export interface Withdrawals {
  /** The keys of `timestamp` and `snapshot` when they became known, as `role:keyid`; none in what earlier versions of this program kept. */
  readonly keys: readonly string[];
  readonly versions: ReadonlySet<number>;
}

/** What a reader has verified, by which it goes. */
interface Verified {
  readonly root: RootMetadata;
  /** The newest that the keys of this root have signed. */
  readonly timestamp: TimestampMetadata | undefined;
  /** The version of the highest snapshot that was verified; 0 if none was. */
  readonly highest: number;
}

export const NONE_WITHDRAWN: Withdrawals = { keys: [], versions: new Set() };

/** The version of the highest of these snapshots. */
export function highestOf(...snapshots: readonly (SnapshotMetadata | undefined)[]): number {
  return Math.max(0, ...snapshots.map((snapshot) => snapshot?.version ?? 0));
}

/** Whether what is known says all that the newest timestamp says, under the keys of today. */
export function isUpToDate(known: Withdrawals, { root, timestamp, highest }: Verified): boolean {
  if (timestamp === undefined) return true;
  const keys = keysOf(root);
  const same = known.versions.size === 0 || (keys.length === known.keys.length && areAllIn(known.keys, keys));
  return same && timestamp.withdrawn.every((version) => version > highest || known.versions.has(version));
}

/**
 * What is known together with what the newest timestamp says. What was learnt under keys that are gone ends when the keys of today have signed
 * a timestamp: whoever had those could withdraw anything.
 */
export function withdrawalsAfter(known: readonly Withdrawals[], verified: Verified): Withdrawals {
  const { root, timestamp, highest } = verified;
  if (timestamp === undefined)
    return {
      keys: [...new Set(known.flatMap(({ keys }) => keys))],
      versions: joined(known.map((one) => one.versions)),
    };
  const keys = keysOf(root);
  const counting = known.filter((one) => areAllIn(one.keys, keys));
  // Not what is still to come: a timestamp can claim any publication, and earlier versions of this program believed that.
  const there = (versions: Iterable<number>) => [...versions].filter((version) => version <= highest);
  const before = counting.map((one) => (one.keys.length > 0 ? one.versions : there(one.versions)));
  return { keys, versions: joined([...before, there(timestamp.withdrawn)]) };
}

export function encodeWithdrawals({ keys, versions }: Withdrawals): Uint8Array {
  return utf8([...keys, ...versions].join(' '));
}

/** Reads what is kept. Whatever is no version and no key in it is passed over. */
export function parseWithdrawals(bytes: Uint8Array): Withdrawals {
  const words = (fromUtf8(bytes) ?? '').split(' ');
  const versions = words.filter((word) => /^\d+$/.test(word)).map(Number);
  return { keys: words.filter((word) => /^(?:timestamp|snapshot):/.test(word)), versions: joined([versions]) };
}

function keysOf({ roles }: RootMetadata): string[] {
  return (['timestamp', 'snapshot'] as const).flatMap((role) => roles[role].keyids.map((keyid) => `${role}:${keyid}`));
}

function areAllIn(some: readonly string[], all: readonly string[]): boolean {
  return some.every((one) => all.includes(one));
}

function joined(all: readonly Iterable<number>[]): Set<number> {
  const versions = all.flatMap((some) => [...some]);
  return new Set(highestVersions(versions, PUBLICATION_LIMITS.withdrawnKept));
}

/** Each once, in ascending order; the highest, where there are more than `most`. */
export function highestVersions(versions: Iterable<number>, most: number): number[] {
  return [...new Set(versions)].sort((a, b) => a - b).slice(-most);
}
