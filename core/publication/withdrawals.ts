/** What a reader remembers of withdrawn publications: docs/spec/publication.md, section 7. */

import { isHexDigest } from '../encoding/digest.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import type { RootMetadata, TimestampMetadata } from './metadata.ts';

/** Versions that keys of `timestamp` have withdrawn, each of these keys all of them. What is remembered has one for each key. */
export interface Withdrawal {
  /** Their ids. */
  readonly keys: readonly string[];
  readonly versions: readonly number[];
}

/** Whether a timestamp withdraws the publication that it names. */
export function withdrawsItself({ withdrawn, snapshot }: TimestampMetadata): boolean {
  return withdrawn.includes(snapshot.version);
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
