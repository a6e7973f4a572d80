import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { padmeLength } from '../../core/crypto/padding.ts';

/** Algorithm 1 of the paper as it stands there, on integers of any length. */
function algorithm1(length: bigint): bigint {
  const exponent = BigInt(length.toString(2).length - 1); // E ← ⌊log₂ L⌋
  const significant = BigInt(exponent.toString(2).length); // S ← ⌊log₂ E⌋ + 1
  const last = exponent - significant; // z ← E − S
  const mask = (1n << last) - 1n;
  return (length + mask) & ~mask;
}

describe('Padmé', () => {
  it('leaves the smallest lengths as they are', () => {
    expect([0, 1, 2, 3, 4, 5, 7, 8, 9].map(padmeLength)).toEqual([0, 1, 2, 3, 4, 5, 7, 8, 10]);
  });

  it('is the algorithm of the paper, for every length', () => {
    const lengths = fc.oneof(
      fc.integer({ min: 8, max: 1 << 20 }),
      fc.maxSafeNat().filter((length) => length >= 8),
    );
    const check = (length: number) => {
      expect(BigInt(padmeLength(length))).toBe(algorithm1(BigInt(length)));
    };
    fc.assert(fc.property(lengths, check));
    for (let power = 3; power < 53; power++) [2 ** power - 1, 2 ** power, 2 ** power + 1].forEach(check);
  });

  it('adds at most 12 percent, 6 from 64 KiB on', () => {
    const overhead = (length: number) => padmeLength(length) / length - 1;
    fc.assert(fc.property(fc.integer({ min: 2, max: 2 ** 31 }), (length) => overhead(length) < 0.12));
    fc.assert(fc.property(fc.integer({ min: 65_536, max: 2 ** 40 }), (length) => overhead(length) < 0.061));
  });

  it('of a padded length is that length', () => {
    fc.assert(fc.property(fc.nat(), (length) => padmeLength(padmeLength(length)) === padmeLength(length)));
  });
});
