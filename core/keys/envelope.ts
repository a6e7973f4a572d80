/** Key envelopes: set keys under a period key, in a file that everyone may fetch: docs/spec/keys.md, "Key envelopes". */
import type { KeyId } from '../crypto/key-id.ts';
import {
  canonicalJson,
  hasMembers,
  isJsonObject,
  type JsonObject,
  parseCanonicalJson,
} from '../encoding/canonical-json.ts';
import { KeyError } from './errors.ts';
import { MESSAGE_LIMITS } from './limits.ts';
import { matchesPattern } from './set-pattern.ts';
import { type TimeSpan, timeOf } from './set-time.ts';
import { isWrappedKey, type NamedKey, type WrappedKey, wrapKey } from './wrapped-key.ts';

/** Set keys in one envelope. */
export const MAXIMUM_KEYS_PER_ENVELOPE = 512;

/** The directory of the envelopes, as a target path. */
export const ENVELOPE_TARGETS = '.well-known/wispr-envelopes/';

export function envelopeTargetOf(period: KeyId): string {
  return `${ENVELOPE_TARGETS}${period}.json`;
}

/**
 * Tells whether a period's envelope holds a set: a pattern of the plan fits, and in a dated plan the time in the set's name is in the period.
 *
 * @param plan - its patterns, and the time zone of a dated plan
 */
export function isInPeriod(
  { sets, zone }: { readonly sets: readonly string[]; readonly zone?: string | undefined },
  { start, end }: TimeSpan,
  setName: string,
): boolean {
  if (!sets.some((pattern) => matchesPattern(pattern, setName))) return false;
  const time = zone === undefined ? undefined : timeOf(setName, zone);
  return time === undefined || (time.start < end && time.end > start);
}

/**
 * Makes the envelope of a period. Keys that an earlier one has in it stay as they are: an envelope whose keys are the same has the same bytes.
 *
 * @param notAfter - the last second of the period
 * @param earlier - as it was made by this function
 */
export async function makeEnvelope(
  period: NamedKey,
  sets: readonly NamedKey[],
  notAfter: number,
  earlier?: Uint8Array,
): Promise<Uint8Array> {
  const known = new Map(earlier && parseEnvelope(earlier, period.id).map((wrapped) => [wrapped.id, wrapped]));
  const keys: WrappedKey[] = [];
  for (const { id, key } of sets)
    keys.push(known.get(id) ?? (await wrapKey(period, { id, key, kind: 'set' }, { notBefore: 0, notAfter })));
  return canonicalJson({ keys } as unknown as JsonObject);
}

/**
 * The keys of an envelope: step E1. Each is still wrapped: `unwrapKey`.
 *
 * @param period - the key id of the period key
 * @throws KeyError `envelope-malformed`
 */
export function parseEnvelope(bytes: Uint8Array, period: KeyId): readonly WrappedKey[] {
  const message = bytes.length <= MESSAGE_LIMITS.envelope ? parseCanonicalJson(bytes) : undefined;
  const keys =
    isJsonObject(message) && hasMembers(message, ['keys']) && Array.isArray(message.keys) ? message.keys : [];
  const isGood =
    keys.length > 0 &&
    keys.length <= MAXIMUM_KEYS_PER_ENVELOPE &&
    keys.every((key) => isWrappedKey(key) && key.kind === 'set' && key.under === period);
  const wrapped = keys as unknown as readonly WrappedKey[];
  if (isGood && new Set(wrapped.map(({ id }) => id)).size === wrapped.length) return wrapped;
  throw new KeyError('envelope-malformed', 'a key envelope of the publication is not that of its period');
}
