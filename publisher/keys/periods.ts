/** Period keys of plans, and the envelopes that hold the set keys under them: docs/spec/keys.md, "Period keys". */
import { randomBytes } from '#primitives';
import { KEY_LENGTH, type KeyId, keyIdOf } from '../../core/crypto/key-id.ts';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import type { BundledPeriod } from '../../core/keys/bundle.ts';
import { envelopeTargetOf, isInPeriod, MAXIMUM_KEYS_PER_ENVELOPE, makeEnvelope } from '../../core/keys/envelope.ts';
import { matchesPattern } from '../../core/keys/set-pattern.ts';
import { periodAt } from '../../core/keys/set-time.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import type { NamedSet, PeriodKey } from './key-store.ts';

export interface NamedPeriod extends PeriodKey {
  readonly id: KeyId;
}

/**
 * Returns the period keys of all plans, for the current period and the next. Known ones stay, except for plans with a set whose key is replaced:
 * a holder of the old period key would find the new set key in the envelope.
 *
 * @param replaced - names of sets that get another key
 * @param now - seconds since 1970
 */
export function periodKeysFor(
  { plans }: Pick<Configuration, 'plans'>,
  known: readonly PeriodKey[],
  replaced: readonly string[],
  now: number,
): PeriodKey[] {
  return plans.flatMap(({ name: plan, period, sets: patterns, zone }) => {
    const sets = [...new Set(patterns)].sort();
    const isReplaced = replaced.some((set) => sets.some((pattern) => matchesPattern(pattern, set)));
    const current = periodAt(period, zone ?? 'UTC', now);
    return [current, periodAt(period, zone ?? 'UTC', current.end)].map(({ start, end }) => {
      const wanted = { plan, sets, ...(zone !== undefined && { zone }), from: start, until: end - 1 };
      const kept = isReplaced ? undefined : known.find((one) => isFor(one, wanted));
      return kept ?? { ...wanted, key: randomBytes(KEY_LENGTH) };
    });
  });
}

function isFor({ key: _, ...one }: PeriodKey, wanted: Omit<PeriodKey, 'key'>): boolean {
  const text = ({ plan, sets, zone, from, until }: typeof wanted) => JSON.stringify([plan, sets, zone, from, until]);
  return text(one) === text(wanted);
}

export function namePeriods(periods: readonly PeriodKey[]): Promise<NamedPeriod[]> {
  return Promise.all(periods.map(async (period) => ({ ...period, id: await keyIdOf('period', period.key) })));
}

/** Formats a key for the key server. */
export function bundledPeriod({ key, ...period }: NamedPeriod, site: string): BundledPeriod {
  return { ...period, key: toBase64url(key), site };
}

/** Envelopes as they were made last, by the key id of the period key: base64url. */
export type KnownEnvelopes = Readonly<Record<KeyId, string>>;

/**
 * Makes the envelopes to publish, by their target paths; those without a key are left out.
 *
 * @param sets - newest first: older ones than fit are asked for at the key server
 */
export async function makeEnvelopes(
  periods: readonly NamedPeriod[],
  sets: readonly NamedSet[],
  known: KnownEnvelopes,
): Promise<{ targets: [target: string, bytes: Uint8Array][]; made: KnownEnvelopes }> {
  const targets: [string, Uint8Array][] = [];
  const made: Record<KeyId, string> = {};
  for (const period of periods) {
    const { id, from, until } = period;
    const held = sets.filter(({ name }) => isInPeriod(period, { start: from, end: until + 1 }, name));
    if (held.length === 0) continue;
    const earlier = fromBase64url(known[id]);
    const bytes = await makeEnvelope(period, held.slice(0, MAXIMUM_KEYS_PER_ENVELOPE), until, earlier);
    targets.push([envelopeTargetOf(id), bytes]);
    made[id] = toBase64url(bytes);
  }
  return { targets, made };
}
