/** What a reader remembers of withdrawn publications: docs/spec/publication.md, section 7. */
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata, SignedTimestamp } from '../../core/publication/metadata.ts';
import {
  encodeWithdrawals,
  isUpToDate,
  isWithdrawn,
  parseWithdrawals,
  type Withdrawal,
  withdrawalsAfter,
} from '../../core/publication/withdrawals.ts';

const key = (number: number) => number.toString(16).padStart(64, '0');
const by = (keys: readonly number[], ...versions: number[]): Withdrawal => ({ keys: keys.map(key), versions });
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** What a reader has verified: only what withdrawals go by. */
function verified(
  keys: readonly number[],
  threshold: number,
  signers: readonly number[],
  withdrawn: number[],
  highest = 10,
) {
  const root = { roles: { timestamp: { keyids: keys.map(key), threshold } } } as unknown as RootMetadata;
  return { root, timestamp: { signers: signers.map(key), withdrawn } as unknown as SignedTimestamp, highest };
}

describe('withdrawals', () => {
  it('are remembered with the keys that signed them, each key by itself', () => {
    const after = withdrawalsAfter([by([1], 3)], verified([1, 2], 1, [1, 2], [3, 4]));
    expect(after).toEqual([by([1], 3, 4), by([2], 3, 4)]);
    expect([3, 4, 5].map((version) => isWithdrawn(after, version))).toEqual([true, true, false]);
    expect(withdrawalsAfter(after, verified([1, 2], 1, [1], [5, 3]))).toEqual([by([1], 3, 4, 5), by([2], 3, 4)]);
  });

  it('count as long as so many of those keys are left as the role wants', () => {
    const known = [by([1], 1), by([1, 2], 2), by([2, 3], 3)];
    expect(withdrawalsAfter(known, verified([2, 3], 1, [3], []))).toEqual([by([2], 2, 3), by([3], 3)]);
    expect(withdrawalsAfter(known, verified([2, 3], 2, [2, 3], []))).toEqual([by([2], 3), by([3], 3)]);
    expect(withdrawalsAfter(known, verified([4], 1, [4], [3]))).toEqual([by([4], 3)]);
  });

  it('count by the keys that are left of all who signed them, whoever signed with whom', () => {
    const known = [by([1, 2], 3, 4), by([3, 4], 3, 5)];
    expect(withdrawalsAfter(known, verified([2, 4, 5], 2, [4, 5], []))).toEqual([by([2], 3), by([4], 3)]);
    expect(withdrawalsAfter(known, verified([2, 5, 6], 2, [5, 6], []))).toEqual([]);
  });

  it('are pushed out by nobody who combines the keys that he has, neither before nor after', () => {
    const [stolen, honest] = [[1, 2, 3, 4, 5], [6]];
    const say = (known: readonly Withdrawal[], signers: readonly number[], ...withdrawn: number[]) =>
      withdrawalsAfter(known, verified([...stolen, ...honest], 1, signers, withdrawn));
    const groups = range(1, 31).map((bits) => stolen.filter((_, index) => (bits >> index) & 1));
    const combine = (known: readonly Withdrawal[]) =>
      groups.reduce((before, signers, index) => say(before, signers, (index % 8) + 1), known);
    const after = combine(say(combine([]), honest, 9));
    expect(after.find(({ keys }) => keys[0] === key(6))).toEqual(by(honest, 9));
    expect(after).toHaveLength(stolen.length + honest.length);
    expect(withdrawalsAfter(after, verified(honest, 1, honest, []))).toEqual([by(honest, 9)]);
  });

  it('all count until the keys of today have signed a timestamp', () => {
    const known = [by([1], 1), by([2], 2), by([1], 3)];
    const nothingSigned = { ...verified([4], 1, [], []), timestamp: undefined };
    expect(withdrawalsAfter(known, nothingSigned)).toEqual([by([1], 1, 3), by([2], 2)]);
  });

  it('are of publications that are there: others wait, and are not forgotten with those that are', () => {
    const all = verified([1], 1, [1], [9, 10, 11]);
    expect(withdrawalsAfter([], all)).toEqual([by([1], 9, 10)]);
    expect(withdrawalsAfter([by([1], 9, 10)], { ...all, highest: 11 })).toEqual([by([1], 9, 10, 11)]);
    expect(withdrawalsAfter([by([1], 9, 10)], { ...all, highest: 1 })).toEqual([by([1], 9, 10)]);
  });

  it('are bounded: the highest of each key, and before all others what is withdrawn now', () => {
    const { withdrawnKept } = PUBLICATION_LIMITS;
    const [kept] = withdrawalsAfter([by([1], ...range(1, 1500))], verified([1], 1, [1], []));
    expect([kept?.versions.length, kept?.versions.at(0)]).toEqual([withdrawnKept, 1501 - withdrawnKept]);
    const now = verified([1, 2], 1, [1], [3, 1500], 1500);
    const after = withdrawalsAfter([by([1, 2], ...range(10, 1500))], now);
    expect(after.map(({ versions }) => versions.length)).toEqual([withdrawnKept, withdrawnKept]);
    expect(after.map(({ versions }) => versions.at(0))).toEqual([3, 1501 - withdrawnKept]);
    expect(isWithdrawn(after, 1500)).toBe(true);
    expect(isUpToDate(after, now)).toBe(true);
    expect(isUpToDate(after, verified([1, 2], 1, [2], []))).toBe(true);
  });

  it('are written only where there is something to learn or to forget', () => {
    const known = [by([1], 3, 4), by([2], 4)];
    expect(isUpToDate(known, verified([1, 2], 1, [1], [3]))).toBe(true);
    expect(isUpToDate(known, verified([1, 2], 1, [2], [3]))).toBe(false);
    expect(isUpToDate(known, verified([2], 1, [2], []))).toBe(false);
    expect(isUpToDate([], { ...verified([1], 1, [], []), timestamp: undefined })).toBe(true);
  });

  it('come back as they were kept; damaged ones, as if there were none', () => {
    const known = [by([1], 3, 4), by([2], 5)];
    expect(parseWithdrawals(encodeWithdrawals(known))).toEqual(known);
    expect(parseWithdrawals(encodeWithdrawals([by([1], 3, 4), by([1, 2], 5)]))).toEqual([by([1], 3, 4, 5), by([2], 5)]);
    for (const text of [
      '',
      '1 2 3',
      '{}',
      '[1]',
      '[null]',
      '[{"keys":["x"],"versions":[1]}]',
      '[{"keys":[],"versions":["1"]}]',
    ])
      expect(parseWithdrawals(utf8(text))).toEqual([]);
  });
});
