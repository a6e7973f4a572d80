import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesPattern } from '../../core/keys/set-pattern.ts';
import { daySpan, isTimeZone, timeOf } from '../../core/keys/set-time.ts';
import { type Access, decideAccess } from '../../keyserver/subscriptions/access.ts';

const NOW = 1_800_000_000;
const DAY = 86_400;
const FOR_EVER = NOW + 30 * DAY;

const at = (time: string) => Date.parse(time) / 1000;

function right(pattern: string, from: number, until: number | null, zone: string | null = null): Access {
  return { patterns: [pattern], from, until, zone };
}

describe('a day', () => {
  it.each(['2026-02-31', '20261125', '2026-11-25T10:00', '+002026-11-25', '2026-11-25\n', ''])('is not %j', (text) => {
    expect(daySpan(text, 'UTC')).toBeUndefined();
  });
});

describe('a pattern of set names', () => {
  it('means what the regular expression means', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', '.', '*'), maxLength: 8 });
    const names = fc.string({ unit: fc.constantFrom('a', '.'), maxLength: 10 });
    fc.assert(
      fc.property(letters, names, (pattern, name) => {
        const expression = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
        expect(matchesPattern(pattern, name)).toBe(expression.test(name));
      }),
      { numRuns: 1000 },
    );
  });

  it('takes linear time', () => {
    const start = performance.now();
    matchesPattern('*a'.repeat(50), `${'a'.repeat(100_000)}b`);
    expect(performance.now() - start).toBeLessThan(1000);
  });
});

describe('a right', () => {
  it('that lasts longest counts', () => {
    const [short, long] = [right('day-*', 0, NOW + DAY), right('*', 0, NOW + 2 * DAY)];
    expect(decideAccess([short, long], 'day-1', NOW)).toEqual({ denied: undefined, by: long, notAfter: NOW + 2 * DAY });
  });

  it('never gives a key for more than thirty days', () => {
    expect(decideAccess([right('*', 0, null)], 'day-1', NOW)).toMatchObject({ notAfter: FOR_EVER });
  });

  it('counts to its last second, and not the one after it', () => {
    expect(decideAccess([right('*', 0, NOW)], 'day-1', NOW)).toMatchObject({ denied: undefined, notAfter: NOW });
    expect(decideAccess([right('*', 0, NOW - 1)], 'day-1', NOW)).toMatchObject({ denied: 'lapsed' });
  });

  it('does not cover other sets, nor begin before its time', () => {
    expect(decideAccess([], 'day-1', NOW)).toEqual({ denied: 'not-entitled' });
    expect(decideAccess([right('day-2', 0, null)], 'day-1', NOW)).toEqual({ denied: 'not-entitled' });
    expect(decideAccess([right('*', NOW + 1, null)], 'day-1', NOW)).toEqual({ denied: 'not-entitled' });
  });
});

describe('a right to dated sets', () => {
  const november = right('day-*', at('2026-11-10T15:00Z'), at('2026-11-20T10:00Z'), 'Europe/Berlin');
  const later = at('2027-06-01T00:00Z');
  const decide = (set: string, now = later) => decideAccess([november], set, now);

  it.each([
    ['of the day on which it began', 'day-2026-11-10'],
    ['of a day within it', 'day-2026-11-15'],
    ['of the day on which it ended', 'day-2026-11-20'],
    ['of the month in which it stood', 'day-2026-11'],
    ['of the year in which it stood', 'day-2026'],
  ])('opens the set %s for ever', (_what, set) => {
    expect(decide(set)).toMatchObject({ denied: undefined, notAfter: later + 30 * DAY });
  });

  it('opens nothing of the day before it, or of the day after it', () => {
    expect(decide('day-2026-11-09')).toEqual({ denied: 'not-entitled' });
    expect(decide('day-2026-11-21')).toEqual({ denied: 'lapsed', by: november });
  });

  it('opens sets of days to come while it stands, so that keys are there before midnight', () => {
    const now = at('2026-11-15T22:00Z');
    expect(decide('day-2026-11-17', now)).toMatchObject({ denied: undefined });
    expect(decide('day-2026-11-21', now)).toEqual({ denied: 'not-entitled' });
  });

  it('opens sets without a date while it stands, and not after it', () => {
    expect(decide('day-of-all-days', at('2026-11-15T00:00Z'))).toMatchObject({ notAfter: november.until });
    expect(decide('day-of-all-days')).toEqual({ denied: 'lapsed', by: november });
    expect(decide('day-2026-02-31')).toEqual({ denied: 'lapsed', by: november });
  });

  it('counts days by its time zone, also where they have 23 or 25 hours', () => {
    expect(timeOf('2026-11-16', 'UTC')).toEqual({ start: at('2026-11-16T00:00Z'), end: at('2026-11-17T00:00Z') });
    expect(timeOf('2026-11-16', 'Pacific/Auckland')).toMatchObject({ start: at('2026-11-15T11:00Z') });
    const short = { start: at('2026-03-28T23:00Z'), end: at('2026-03-29T22:00Z') };
    expect(timeOf('2026-03-29', 'Europe/Berlin')).toEqual(short);
    const long = { start: at('2026-10-24T22:00Z'), end: at('2026-10-25T23:00Z') };
    for (const read of [daySpan, timeOf]) expect(read('2026-10-25', 'Europe/Berlin')).toEqual(long);
    // Midnight did not exist: clocks went from 23:59:59 to 01:00.
    expect(timeOf('2018-11-04', 'America/Sao_Paulo')).toMatchObject({ start: at('2018-11-04T03:00Z') });
  });

  it('finds one date in the name, and no part of a longer number', () => {
    expect(timeOf('issue 2026-11-16 b', 'UTC')).toMatchObject({ start: at('2026-11-16T00:00Z') });
    expect(timeOf('year-2026', 'UTC')).toEqual({ start: at('2026-01-01T00:00Z'), end: at('2027-01-01T00:00Z') });
    expect(timeOf('2026-12', 'UTC')).toEqual({ start: at('2026-12-01T00:00Z'), end: at('2027-01-01T00:00Z') });
    expect(timeOf('part-120261', 'UTC')).toBe(undefined);
    expect(timeOf('photos', 'UTC')).toBe(undefined);
  });

  it('knows time zones by their names', () => {
    expect(['Europe/Berlin', 'UTC', 'Mars/Olympus', ''].map(isTimeZone)).toEqual([true, true, false, false]);
  });
});
