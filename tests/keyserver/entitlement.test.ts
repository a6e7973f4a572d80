import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesPattern } from '../../core/keys/set-pattern.ts';
import { decideGrant } from '../../keyserver/readers/entitlement.ts';

const NOW = 1_800_000_000;
const DAY = 86_400;

describe('a pattern of set names', () => {
  it.each([
    ['*', 'anything at all', true],
    ['day-1', 'day-1', true],
    ['day-1', 'day-10', false],
    ['2026-11-*', '2026-11-20', true],
    ['2026-11-*', '2026-12-01', false],
    ['*-sport', '2026-sport', true],
    ['a*b*c', 'a-c-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['ab*ba', 'aba', false],
    ['*a*', 'b', false],
    ['a.c', 'abc', false],
  ])('%s and %s: %s', (pattern, name, expected) => {
    expect(matchesPattern(pattern, name)).toBe(expected);
  });

  it('means what the regular expression means', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
    const names = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 });
    fc.assert(
      fc.property(letters, names, (pattern, name) => {
        const expression = new RegExp(`^${pattern.replaceAll('*', '.*')}$`);
        expect(matchesPattern(pattern, name)).toBe(expression.test(name));
      }),
    );
  });

  it('takes linear time', () => {
    const start = performance.now();
    matchesPattern('*a'.repeat(50), `${'a'.repeat(100_000)}b`);
    expect(performance.now() - start).toBeLessThan(1000);
  });
});

describe('a decision', () => {
  const grant = (pattern: string, from: number, until: number | null) => ({ pattern, from, until });

  it('takes the grant that lasts longest', () => {
    const grants = [grant('day-*', 0, NOW + DAY), grant('*', 0, NOW + 2 * DAY)];
    expect(decideGrant(grants, 'day-1', NOW)).toEqual({ notAfter: NOW + 2 * DAY });
  });

  it('never goes beyond thirty days', () => {
    expect(decideGrant([grant('*', 0, null)], 'day-1', NOW)).toEqual({ notAfter: NOW + 30 * DAY });
  });

  it('counts the last second, and not the one after it', () => {
    expect(decideGrant([grant('*', 0, NOW)], 'day-1', NOW)).toEqual({ notAfter: NOW });
    expect(decideGrant([grant('*', 0, NOW - 1)], 'day-1', NOW)).toBe('lapsed');
  });

  it('does not know sets that are not granted, or not yet', () => {
    expect(decideGrant([grant('sport', 0, null)], 'day-1', NOW)).toBe('not-entitled');
    expect(decideGrant([grant('*', NOW + 1, null)], 'day-1', NOW)).toBe('not-entitled');
    expect(decideGrant([], 'day-1', NOW)).toBe('not-entitled');
  });
});
