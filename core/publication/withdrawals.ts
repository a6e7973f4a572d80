/** What a reader remembers of withdrawn publications: docs/spec/publication.md, section 7. */

import { fromUtf8, utf8 } from '../encoding/bytes.ts';
import { isHexDigest } from '../encoding/digest.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import type { RootMetadata, SignedTimestamp, SnapshotMetadata, TimestampMetadata } from './metadata.ts';

/** Versions that keys of `timestamp` have withdrawn, each of these keys all of them. What is remembered has one for each key. */
export interface Withdrawal {
  /** Their ids. */
  readonly keys: readonly string[];
  readonly versions: readonly number[];
}

/** What a reader has verified, by which it goes. */
interface Verified {
  readonly root: RootMetadata;
  /** The newest that the keys of this root have signed. */
  readonly timestamp: SignedTimestamp | undefined;
  /** The version of the highest snapshot that was verified; 0 if none was. */
  readonly highest: number;
}

/** The version of the highest of these snapshots. */
export function highestOf(...snapshots: readonly (SnapshotMetadata | undefined)[]): number {
  return Math.max(0, ...snapshots.map((snapshot) => snapshot?.version ?? 0));
}

/** Whether a timestamp withdraws the publication that it names. */
export function withdrawsItself({ withdrawn, snapshot }: TimestampMetadata): boolean {
  return withdrawn.includes(snapshot.version);
}

export function isWithdrawn(known: readonly Withdrawal[], version: number): boolean {
  return known.some(({ versions }) => versions.includes(version));
}

/**
 * What is known together with what the newest timestamp says. What keys have signed of whom too few are left ends when the keys of today have
 * signed a timestamp: whoever had those could withdraw anything. Of each key by itself: groups of keys are so many that whoever stole a few
 * keys could make more of them than anybody remembers.
 */
export function withdrawalsAfter(known: readonly Withdrawal[], { root, timestamp, highest }: Verified): Withdrawal[] {
  if (timestamp === undefined) return joinWithdrawals(known);
  // Not what is still to come: a timestamp can claim any publication.
  const there = timestamp.withdrawn.filter((version) => version <= highest);
  return countingWithdrawals(joinWithdrawals([...known, { keys: timestamp.signers, versions: there }], there), root);
}

/** What enough of the timestamp keys of a root have withdrawn. @param all - one for each key */
export function countingWithdrawals(all: readonly Withdrawal[], { roles }: RootMetadata): Withdrawal[] {
  const { keyids, threshold } = roles.timestamp;
  return saidByEnough(
    all.filter(({ keys }) => keys.every((key) => keyids.includes(key))),
    threshold,
  );
}

function saidByEnough(all: readonly Withdrawal[], threshold: number): Withdrawal[] {
  const counts = new Map<number, number>();
  for (const version of all.flatMap(({ versions }) => versions)) counts.set(version, (counts.get(version) ?? 0) + 1);
  const isEnough = (version: number) => (counts.get(version) ?? 0) >= threshold;
  return withSome(all.map(({ keys, versions }) => ({ keys, versions: versions.filter(isEnough) })));
}

/** Whether there is nothing to learn from the newest timestamp, and nothing to forget. */
export function isUpToDate(known: readonly Withdrawal[], verified: Verified): boolean {
  return textOf(withdrawalsAfter(known, verified)) === textOf(known);
}

export function encodeWithdrawals(known: readonly Withdrawal[]): Uint8Array {
  return utf8(textOf(known));
}

function textOf(known: readonly Withdrawal[]): string {
  return JSON.stringify(known.map(({ keys, versions }) => ({ keys, versions })));
}

/** Reads what is kept; what is damaged, as if it were not there. */
export function parseWithdrawals(bytes: Uint8Array): Withdrawal[] {
  try {
    const value: unknown = JSON.parse(fromUtf8(bytes) ?? '');
    return areWithdrawals(value) ? joinWithdrawals(value) : [];
  } catch {
    return [];
  }
}

/** Whether a value that was kept has the form of withdrawals. */
export function areWithdrawals(value: unknown): value is Withdrawal[] {
  return Array.isArray(value) && value.every(isWithdrawal);
}

function isWithdrawal(value: unknown): value is Withdrawal {
  const { keys, versions } = { ...(value as Partial<Withdrawal>) };
  return (
    Array.isArray(keys) &&
    Array.isArray(versions) &&
    keys.every((key) => typeof key === 'string' && isHexDigest(key)) &&
    versions.every((version) => Number.isSafeInteger(version))
  );
}

/** One for each key. @param now - what is withdrawn now, for which there is always room */
export function joinWithdrawals(all: readonly Withdrawal[], now: readonly number[] = []): Withdrawal[] {
  const said = new Map<string, number[]>();
  for (const { keys, versions } of all) for (const key of keys) said.set(key, [...(said.get(key) ?? []), ...versions]);
  return withSome([...said].map(([key, versions]) => ({ keys: [key], versions: bounded(versions, now) })));
}

function bounded(versions: readonly number[], now: readonly number[]): number[] {
  const most = PUBLICATION_LIMITS.withdrawnKept;
  const first = new Set(versions.filter((version) => now.includes(version)));
  const others = highestVersions(
    versions.filter((version) => !first.has(version)),
    most - first.size,
  );
  return highestVersions([...first, ...others], most);
}

function withSome(all: readonly Withdrawal[]): Withdrawal[] {
  return all.filter(({ versions }) => versions.length > 0);
}

/** Each once, in ascending order; the highest, where there are more than `most`. */
export function highestVersions(versions: Iterable<number>, most: number): number[] {
  return [...new Set(versions)].sort((a, b) => a - b).slice(-most);
}
