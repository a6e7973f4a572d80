/**
 * Uses of a device key by its device. A Reader has the key's bytes; a browser has handles of the three keys that are derived from it, whose
 * bytes no script can read: docs/spec/web-reader.md, "Devices of browsers".
 */
import { type HmacHandle, hkdfExpand } from '../crypto/hkdf.ts';
import { KEY_LENGTH, type KeyId } from '../crypto/key-id.ts';
import { lengthPrefixed, utf8 } from '../encoding/bytes.ts';

/** AES-256-GCM decryption under one key; `undefined` if the tag is wrong. */
type Open = (nonce: Uint8Array, ciphertext: Uint8Array, additionalData: Uint8Array) => Promise<Uint8Array | undefined>;

export interface DeviceKeyHandle {
  readonly id: KeyId;
  /** HMAC-SHA-256 under {@link requestMacKey}. */
  readonly mac: (message: Uint8Array) => Promise<Uint8Array>;
  /** Opens under {@link keyAnswerKey}. */
  readonly openAnswer: Open;
  /** Opens under {@link wrappingKey}. */
  readonly openWrapped: Open;
}

/** The keys that follow from a device key, for a key server that uses them again and again. */
export interface DerivedDeviceKeys {
  readonly id: KeyId;
  readonly mac: Uint8Array;
  readonly answer: Uint8Array;
  readonly wrapping: Uint8Array;
}

/** @param id - the key id of `key` */
export async function deriveFromDeviceKey(id: KeyId, key: Uint8Array): Promise<DerivedDeviceKeys> {
  return { id, mac: await requestMacKey(key), answer: await keyAnswerKey(key), wrapping: await wrappingKey(key) };
}

/** Proves possession of the device key: keys.md section 8. */
export function requestMacKey(deviceKey: Uint8Array): Promise<Uint8Array> {
  return derive(deviceKey, 'wispr/1 key request mac');
}

/** Encrypts answers: keys.md section 8. */
export function keyAnswerKey(deviceKey: Uint8Array): Promise<Uint8Array> {
  return derive(deviceKey, 'wispr/1 key answer');
}

/** A key is used for one purpose only, so what encrypts is derived from the outer key: keys.md section 3. */
export function wrappingKey(outer: Uint8Array | HmacHandle): Promise<Uint8Array> {
  return derive(outer, 'wispr/1 wrapping');
}

function derive(key: Uint8Array | HmacHandle, label: string): Promise<Uint8Array> {
  return hkdfExpand(key, lengthPrefixed(utf8(label)), KEY_LENGTH);
}
