/** Key ids, and keys wrapped under other keys: docs/spec/keys.md sections 2 and 3. */
import { aes256GcmSeal } from '#primitives';
import { hkdfExpand } from '../../../core/crypto/hkdf.ts';
import { type KeyKind, keyIdBytes } from '../../../core/crypto/key-id.ts';
import { toBase64url } from '../../../core/encoding/base64url.ts';
import { concat, lengthPrefixed, u64, utf8 } from '../../../core/encoding/bytes.ts';
import type { JsonObject } from '../../../core/encoding/canonical-json.ts';
import type { NamedKey, WrappedKey } from '../../../core/keys/wrapped-key.ts';
import { type KeyVector, toBase64 } from '../format.ts';
import { NOW, namedKey, otherSetKey, secret, setKey } from './fixed.ts';

const VALIDITY = { notBefore: NOW - 3600, notAfter: NOW + 3600 };
export const deviceKey = await namedKey('device', 'device of a subscriber');
const otherDeviceKey = await namedKey('device', 'device of another subscriber');
export const periodKey = await namedKey('period', 'november');

/** A wrapped key with a nonce that is fixed, as it must never be outside of vectors. */
export async function wrapFixed(
  outer: NamedKey,
  inner: NamedKey & { kind: WrappedKey['kind'] },
  changes: { notBefore?: number; notAfter?: number; length?: number } = {},
): Promise<WrappedKey> {
  const { notBefore, notAfter } = { ...VALIDITY, ...changes };
  const nonce = (await secret(`nonce of ${inner.id} under ${outer.id} from ${notBefore} to ${notAfter}`)).subarray(
    0,
    12,
  );
  const data = concat(
    utf8('wispr/1 wrapped key\n'),
    keyIdBytes(outer.id),
    keyIdBytes(inner.id),
    lengthPrefixed(utf8(inner.kind)),
    u64(notBefore),
    u64(notAfter),
  );
  const key = await hkdfExpand(outer.key, lengthPrefixed(utf8('wispr/1 wrapping')), 32);
  const sealed = await aes256GcmSeal(key, nonce, inner.key.subarray(0, changes.length), data);
  return {
    id: inner.id,
    kind: inner.kind,
    notAfter,
    notBefore,
    under: outer.id,
    wrapped: toBase64url(concat(nonce, sealed)),
  };
}

export async function wrappedKeyVectors(): Promise<KeyVector[]> {
  return [...(await keyIds()), ...(await goodWrappings()), ...(await badWrappings())];
}

async function keyIds(): Promise<KeyVector[]> {
  const kinds: KeyKind[] = ['set', 'period', 'device', 'publisher'];
  return Promise.all(
    kinds.map(async (kind) => {
      const { id, key } = await namedKey(kind, 'to be named');
      return {
        name: `key id, ${kind}`,
        operation: 'key-id',
        input: { kind, key: toBase64(key) },
        outcome: 'success',
        result: { id },
      };
    }),
  );
}

function unwrap(
  name: string,
  outcome: string,
  outer: NamedKey,
  wrapped: object,
  details: { outerKind?: KeyKind; now?: number; key?: Uint8Array; attacks?: number[] } = {},
): KeyVector {
  const { outerKind = 'device', now = NOW, key, attacks } = details;
  return {
    name: `wrapped key, ${name}`,
    ...(attacks && { attacks }),
    operation: 'unwrap-key',
    input: { outerKind, outerKey: toBase64(outer.key), wrapped: JSON.stringify(wrapped), now },
    outcome,
    ...(key && { result: { key: toBase64(key) } }),
  };
}

async function goodWrappings(): Promise<KeyVector[]> {
  const set = await wrapFixed(deviceKey, { ...setKey, kind: 'set' });
  const period = await wrapFixed(deviceKey, { ...periodKey, kind: 'period' });
  const underPeriod = await wrapFixed(periodKey, { ...setKey, kind: 'set' });
  return [
    unwrap('set key under a device key', 'success', deviceKey, set, { key: setKey.key }),
    unwrap('period key under a device key', 'success', deviceKey, period, { key: periodKey.key }),
    unwrap('set key under a period key', 'success', periodKey, underPeriod, { key: setKey.key, outerKind: 'period' }),
    unwrap('at its first second', 'success', deviceKey, set, { key: setKey.key, now: VALIDITY.notBefore }),
    unwrap('at its last second', 'success', deviceKey, set, { key: setKey.key, now: VALIDITY.notAfter }),
  ];
}

async function badWrappings(): Promise<KeyVector[]> {
  const good = await wrapFixed(deviceKey, { ...setKey, kind: 'set' });
  const misnamed = await wrapFixed(deviceKey, { id: otherSetKey.id, key: setKey.key, kind: 'set' });
  const otherKind = await wrapFixed(deviceKey, { ...setKey, kind: 'period' });
  const short = await wrapFixed(deviceKey, { ...setKey, kind: 'set' }, { length: 31 });
  const foreign = await wrapFixed(otherDeviceKey, { ...setKey, kind: 'set' });
  const byOther = await wrapFixed({ id: deviceKey.id, key: otherDeviceKey.key }, { ...setKey, kind: 'set' });
  const { wrapped } = good;
  const malformed: Record<string, JsonObject> = {
    'too short': { ...good, wrapped: wrapped.slice(0, -4) },
    'too long': { ...good, wrapped: `${wrapped}AAAA` },
    empty: { ...good, wrapped: '' },
    'with padding': { ...good, wrapped: `${wrapped}=` },
    'of another kind': { ...good, kind: 'device' },
    'with a member more': { ...good, extra: 1 },
    'with a time as text': { ...good, notAfter: String(good.notAfter) },
    'with an id that is none': { ...good, id: 'AAAA' },
    'holding 31 bytes': { ...short },
  };
  return [
    ...Object.entries(malformed).map(([name, value]) =>
      unwrap(name, 'wrapped-key-invalid', deviceKey, value, { attacks: [42] }),
    ),
    unwrap('of another subscriber', 'wrapped-key-invalid', deviceKey, foreign, { attacks: [42] }),
    unwrap(
      'of another subscriber, renamed',
      'wrapped-key-invalid',
      deviceKey,
      { ...foreign, under: deviceKey.id },
      { attacks: [42] },
    ),
    unwrap('under another issuer', 'wrapped-key-invalid', deviceKey, byOther, { attacks: [42] }),
    unwrap(
      'a bit flipped',
      'wrapped-key-invalid',
      deviceKey,
      { ...good, wrapped: flipped(wrapped) },
      { attacks: [42] },
    ),
    unwrap('renamed', 'wrapped-key-invalid', deviceKey, { ...good, id: otherSetKey.id }, { attacks: [42, 43] }),
    unwrap(
      'made to last longer',
      'wrapped-key-invalid',
      deviceKey,
      { ...good, notAfter: good.notAfter + 1 },
      { attacks: [22, 42] },
    ),
    unwrap('made to begin sooner', 'wrapped-key-invalid', deviceKey, { ...good, notBefore: 0 }, { attacks: [22, 42] }),
    unwrap('made another kind', 'wrapped-key-invalid', deviceKey, { ...good, kind: 'period' }, { attacks: [42] }),
    unwrap('key that is not the one it is named', 'wrapped-key-invalid', deviceKey, misnamed, { attacks: [43] }),
    unwrap('set key that says it is a period key', 'wrapped-key-invalid', deviceKey, otherKind, { attacks: [43] }),
    unwrap('before its time', 'key-not-valid-now', deviceKey, good, {
      now: VALIDITY.notBefore - 1,
      attacks: [22],
    }),
    unwrap('after its time', 'key-not-valid-now', deviceKey, good, {
      now: VALIDITY.notAfter + 1,
      attacks: [22],
    }),
  ];
}

function flipped(text: string): string {
  return (text.startsWith('A') ? 'B' : 'A') + text.slice(1);
}
