/** Key envelopes: docs/spec/keys.md section 3. */
import { canonicalJson, type Json } from '../../../core/encoding/canonical-json.ts';
import { type KeyVector, toBase64 } from '../format.ts';
import { NOW, namedKey, otherSetKey, setKey } from './fixed.ts';
import { deviceKey, periodKey, wrapFixed } from './keys-wrapped.ts';

const UNTIL = NOW + 86_399;

const wrapped = (key: typeof setKey, under = periodKey) =>
  wrapFixed(under, { ...key, kind: 'set' }, { notBefore: 0, notAfter: UNTIL });

const of = (...keys: unknown[]) => canonicalJson({ keys } as unknown as Json);

function open(
  name: string,
  outcome: string,
  envelope: Uint8Array,
  { attacks, now = NOW, key }: { attacks?: number[]; now?: number; key?: Uint8Array } = {},
): KeyVector {
  return {
    name: `envelope, ${name}`,
    ...(attacks && { attacks }),
    operation: 'open-envelope',
    input: { envelope: toBase64(envelope), periodKey: toBase64(periodKey.key), set: setKey.id, now },
    outcome,
    ...(key && { result: { key: toBase64(key) } }),
  };
}

export async function envelopeVectors(): Promise<KeyVector[]> {
  const [key, other] = [await wrapped(setKey), await wrapped(otherSetKey)];
  const nextMonth = await namedKey('period', 'december');
  const misnamed = await wrapped({ id: setKey.id, key: otherSetKey.key });
  const ofNextMonth = await wrapped(setKey, nextMonth);
  const malformed = (name: string, envelope: Uint8Array, attacks?: number[]) =>
    open(name, 'envelope-malformed', envelope, attacks && { attacks });
  return [
    open('good', 'success', of(key, other), { key: setKey.key }),
    open('at its last second', 'success', of(key), { key: setKey.key, now: UNTIL }),
    open('after its time', 'key-not-valid-now', of(key), { now: UNTIL + 1, attacks: [22] }),
    open('a key that is not the one it is named', 'wrapped-key-invalid', of(misnamed), { attacks: [43] }),
    open('made to last longer', 'wrapped-key-invalid', of({ ...key, notAfter: UNTIL + 1 }), { attacks: [42] }),
    open('of another period, renamed', 'wrapped-key-invalid', of({ ...ofNextMonth, under: periodKey.id }), {
      attacks: [42],
    }),
    malformed('of another period', of(ofNextMonth), [42]),
    malformed('with a key under a device key', of(key, await wrapped(otherSetKey, deviceKey)), [42]),
    malformed('with a period key', of(key, await wrapFixed(periodKey, { ...nextMonth, kind: 'period' })), [42]),
    malformed('without a key', of()),
    malformed('with a key twice', of(key, key)),
    malformed('with a member more', canonicalJson({ keys: [key], extra: 1 } as unknown as Json)),
    malformed('with spaces', new TextEncoder().encode(JSON.stringify({ keys: [key] }, null, 1))),
    malformed('empty', new Uint8Array(0)),
  ];
}
