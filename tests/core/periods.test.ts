/** Periods and their borders, and envelopes beyond what the vectors say. */
import { describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { type KeyKind, keyIdOf } from '../../core/crypto/key-id.ts';
import { canonicalJson, type Json } from '../../core/encoding/canonical-json.ts';
import { isInPeriod, MAXIMUM_KEYS_PER_ENVELOPE, makeEnvelope, parseEnvelope } from '../../core/keys/envelope.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { type PeriodKind, periodAt } from '../../core/keys/set-time.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';

const at = (text: string) => Date.parse(text) / 1000;

async function fresh(kind: KeyKind): Promise<NamedKey> {
  const key = randomBytes(32);
  return { id: await keyIdOf(kind, key), key };
}

describe('a period', () => {
  it.each<[PeriodKind, string, string, string, string]>([
    ['day', 'Europe/Berlin', '2026-03-29T10:00Z', '2026-03-28T23:00Z', '2026-03-29T22:00Z'], // 23 hours
    ['day', 'Europe/Berlin', '2026-10-25T10:00Z', '2026-10-24T22:00Z', '2026-10-25T23:00Z'], // 25 hours
    ['day', 'America/Sao_Paulo', '2018-11-04T12:00Z', '2018-11-04T03:00Z', '2018-11-05T02:00Z'], // has no midnight
    ['day', 'Pacific/Auckland', '2026-12-31T11:00Z', '2026-12-31T11:00Z', '2027-01-01T11:00Z'], // is tomorrow there
    ['day', 'Pacific/Auckland', '2026-12-31T10:59:59Z', '2026-12-30T11:00Z', '2026-12-31T11:00Z'],
    ['week', 'UTC', '2027-01-03T23:59:59Z', '2026-12-28T00:00Z', '2027-01-04T00:00Z'], // the 53rd of 2026
    ['week', 'UTC', '2027-01-04T00:00Z', '2027-01-04T00:00Z', '2027-01-11T00:00Z'],
    ['week', 'Europe/Berlin', '2026-10-25T12:00Z', '2026-10-18T22:00Z', '2026-10-25T23:00Z'],
    ['month', 'Europe/Berlin', '2026-10-31T22:59:59Z', '2026-09-30T22:00Z', '2026-10-31T23:00Z'],
    ['month', 'Europe/Berlin', '2026-12-31T23:00Z', '2026-12-31T23:00Z', '2027-01-31T23:00Z'], // January there
    ['month', 'UTC', '2028-02-29T12:00Z', '2028-02-01T00:00Z', '2028-03-01T00:00Z'],
  ])('%s in %s at %s: from %s to %s', (kind, zone, time, start, end) => {
    expect(periodAt(kind, zone, at(time))).toEqual({ start: at(start), end: at(end) });
    expect(periodAt(kind, zone, at(end)).start).toBe(at(end));
    expect(periodAt(kind, zone, at(end) - 1).start).toBe(at(start));
  });

  it('of a dated plan has the sets of its time, and those without one; of another plan it has all that match', () => {
    const november = periodAt('month', 'Europe/Berlin', at('2026-11-16T12:00Z'));
    const dated = { sets: ['day-*', 'week', '2026*'], zone: 'Europe/Berlin' };
    const days = ['day-2026-10-31', 'day-2026-11-01', 'day-2026-11-30', 'day-2026-12-01'];
    const names = [...days, 'week', '2026', '2026-10', 'x'];
    const held = (plan: typeof dated | { sets: string[] }) => names.filter((name) => isInPeriod(plan, november, name));
    expect(held(dated)).toEqual(['day-2026-11-01', 'day-2026-11-30', 'week', '2026']);
    expect(held({ sets: ['day-*'] })).toEqual(days);
  });
});

describe('an envelope', () => {
  it('keeps its bytes where its keys are the same, and what is wrapped already', async () => {
    const period = await fresh('period');
    const [one, two] = [await fresh('set'), await fresh('set')];
    const first = await makeEnvelope(period, [one], 100);
    expect(await makeEnvelope(period, [one], 100, first)).toEqual(first);
    const second = parseEnvelope(await makeEnvelope(period, [two, one], 100, first), period.id);
    expect(second.map(({ id }) => id)).toEqual([two.id, one.id]);
    expect(second[1]).toEqual(parseEnvelope(first, period.id)[0]);
  });

  it('has as many keys as fit, and no more', async () => {
    const period = await fresh('period');
    const [wrapped] = parseEnvelope(await makeEnvelope(period, [await fresh('set')], 2 ** 33), period.id);
    const of = async (count: number) => {
      const ids = await Promise.all(Array.from({ length: count }, () => fresh('set')));
      return canonicalJson({ keys: ids.map(({ id }) => ({ ...wrapped, id })) } as unknown as Json);
    };
    const full = await of(MAXIMUM_KEYS_PER_ENVELOPE);
    expect(full.length).toBeLessThan(MESSAGE_LIMITS.envelope);
    expect(parseEnvelope(full, period.id)).toHaveLength(MAXIMUM_KEYS_PER_ENVELOPE);
    const tooMany = await of(MAXIMUM_KEYS_PER_ENVELOPE + 1);
    expect(() => parseEnvelope(tooMany, period.id)).toThrow(expect.objectContaining({ code: 'envelope-malformed' }));
  });
});
