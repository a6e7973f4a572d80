/** Wrapped keys, the one construction in which keys travel: docs/spec/keys.md, "Wrapped keys". */
import { aes256GcmOpen, aes256GcmSeal, randomBytes } from '#primitives';
import { isKeyId, KEY_LENGTH, type KeyId, keyIdBytes, keyIdOf } from '../crypto/key-id.ts';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { concat, lengthPrefixed, u64, utf8 } from '../encoding/bytes.ts';
import { hasMembers, isJsonObject, type Json } from '../encoding/canonical-json.ts';
import { type DerivedDeviceKeys, type DeviceKeyHandle, wrappingKey } from './device-key.ts';
import { KeyError } from './errors.ts';

const NONCE_LENGTH = 12;
const WRAPPED_LENGTH = NONCE_LENGTH + KEY_LENGTH + 16;
const AAD_LABEL = utf8('wispr/1 wrapped key\n');

/** A key encrypted under another, with its validity. */
export interface WrappedKey {
  /** Key id of the key inside. */
  readonly id: KeyId;
  readonly kind: 'period' | 'set';
  /** Seconds since 1970, inclusive. */
  readonly notAfter: number;
  readonly notBefore: number;
  /** Key id of the key it is wrapped under. */
  readonly under: KeyId;
  /** base64url of nonce (12) || ciphertext (32) || tag (16). */
  readonly wrapped: string;
}

export interface NamedKey {
  readonly id: KeyId;
  readonly key: Uint8Array;
}

/** Wraps `inner` under `outer`, a device or period key. */
export async function wrapKey(
  outer: NamedKey | DerivedDeviceKeys,
  inner: NamedKey & { readonly kind: WrappedKey['kind'] },
  validity: { readonly notBefore: number; readonly notAfter: number },
): Promise<WrappedKey> {
  const { notBefore, notAfter } = validity;
  const description = { id: inner.id, kind: inner.kind, notAfter, notBefore, under: outer.id };
  const nonce = randomBytes(NONCE_LENGTH);
  const key = 'wrapping' in outer ? outer.wrapping : await wrappingKey(outer.key);
  const sealed = await aes256GcmSeal(key, nonce, inner.key, additionalData(description));
  return { ...description, wrapped: toBase64url(concat(nonce, sealed)) };
}

/**
 * Unwraps a key: steps W1 to W5, in this order.
 *
 * @param now - seconds since 1970
 * @throws KeyError `wrapped-key-invalid`,
 * `key-not-valid-now`
 */
export async function unwrapKey(
  outer: NamedKey | DeviceKeyHandle,
  wrapped: WrappedKey,
  now: number,
): Promise<Uint8Array> {
  // W1
  const bytes = isWrappedKey({ ...wrapped }) ? fromBase64url(wrapped.wrapped, WRAPPED_LENGTH) : undefined;
  if (bytes === undefined) throw new KeyError('wrapped-key-invalid', 'the wrapped key is not of the right form');
  // W2
  if (wrapped.under !== outer.id) throw new KeyError('wrapped-key-invalid', 'the key is wrapped for another device');
  // W3
  const [nonce, sealed] = [bytes.subarray(0, NONCE_LENGTH), bytes.subarray(NONCE_LENGTH)];
  const context = additionalData(wrapped);
  const key =
    'key' in outer
      ? await aes256GcmOpen(await wrappingKey(outer.key), nonce, sealed, context)
      : await outer.openWrapped(nonce, sealed, context);
  if (key === undefined)
    throw new KeyError('wrapped-key-invalid', 'the wrapped key was altered, or made by another issuer');
  // W4
  if ((await keyIdOf(wrapped.kind, key)) !== wrapped.id) {
    throw new KeyError('wrapped-key-invalid', 'the wrapped key is not the key that it is named');
  }
  // W5
  if (now < wrapped.notBefore || now > wrapped.notAfter) {
    throw new KeyError('key-not-valid-now', 'the wrapped key is not valid at this time');
  }
  return key;
}

export function isWrappedKey(value: Json | undefined): value is { [member: string]: Json } & WrappedKey {
  return (
    isJsonObject(value) &&
    hasMembers(value, ['id', 'kind', 'notAfter', 'notBefore', 'under', 'wrapped']) &&
    isKeyId(value.id) &&
    isKeyId(value.under) &&
    (value.kind === 'period' || value.kind === 'set') &&
    typeof value.notAfter === 'number' &&
    typeof value.notBefore === 'number' &&
    fromBase64url(value.wrapped, WRAPPED_LENGTH) !== undefined
  );
}

function additionalData({ under, id, kind, notBefore, notAfter }: Omit<WrappedKey, 'wrapped'>): Uint8Array {
  const name = lengthPrefixed(utf8(kind));
  return concat(AAD_LABEL, keyIdBytes(under), keyIdBytes(id), name, u64(notBefore), u64(notAfter));
}
