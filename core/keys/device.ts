/** A device's keys, and the checks on keys of devices: docs/spec/keys.md, "Devices". */
import { ed25519KeyPair, type KeyPair, XWING_PUBLIC_KEY_LENGTH, x25519, xwingKeyPair } from '#primitives';
import { hkdfExpand } from '../crypto/hkdf.ts';
import { type KeyId, keyIdBytes } from '../crypto/key-id.ts';
import { lengthPrefixed, utf8 } from '../encoding/bytes.ts';
import { KeyError } from './errors.ts';

/** Bytes of ML-KEM-768's encapsulation key, in front of the X25519 key in an X-Wing public key. */
const MLKEM_KEY_LENGTH = 1184;
/** Bytes of it that hold 12-bit coefficients; the rest is a seed. */
const MLKEM_COEFFICIENT_BYTES = 1152;
const MLKEM_MODULUS = 3329;

export interface DeviceKeys {
  /** X-Wing: the issuer encapsulates the device key to it. */
  readonly xwing: KeyPair;
  /** Ed25519: signs the binding request. */
  readonly ed25519: KeyPair;
}

/** Issuer that a device is bound to: two publishers get keys that have nothing in common. */
export interface KeyIssuer {
  readonly keyServer: string;
  readonly publisher: KeyId;
}

/** Derives a device's key pairs for one provider from the device's random 32-byte seed. */
export async function deriveDeviceKeys(seed: Uint8Array, provider: KeyIssuer): Promise<DeviceKeys> {
  return {
    xwing: xwingKeyPair(await deriveSeed(seed, 'wispr/1 device x-wing', provider)),
    ed25519: ed25519KeyPair(await deriveSeed(seed, 'wispr/1 device ed25519', provider)),
  };
}

/**
 * Checks an X-Wing public key before anything is encapsulated to it: its length; that the ML-KEM part is reduced (FIPS 203
 * section 7.2); that the X25519 part is below p, has bit 255 clear, and is not of small order.
 *
 * @throws KeyError `binding-malformed`
 */
export function checkXwingPublicKey(publicKey: Uint8Array): void {
  if (publicKey.length !== XWING_PUBLIC_KEY_LENGTH)
    throw invalid(`it has ${publicKey.length} bytes, not ${XWING_PUBLIC_KEY_LENGTH}`);
  if (!isReduced(publicKey.subarray(0, MLKEM_COEFFICIENT_BYTES))) throw invalid('its ML-KEM part is not reduced');
  checkX25519PublicKey(publicKey.subarray(MLKEM_KEY_LENGTH));
}

/** The X25519 part of {@link checkXwingPublicKey}. @throws KeyError `binding-malformed` */
export function checkX25519PublicKey(point: Uint8Array): void {
  if (point.length !== 32) throw invalid('its X25519 part does not have 32 bytes');
  if (!isCanonicalX25519(point)) throw invalid('its X25519 part is not below p');
  // Scalars are clamped to a multiple of the cofactor, so any of them finds the points of small order.
  if (x25519(new Uint8Array(32).fill(1), point) === undefined) throw invalid('its X25519 part is of small order');
}

/** Tells whether a little-endian number is below p = 2^255 - 19. */
function isCanonicalX25519(point: Uint8Array): boolean {
  const [low = 0, ...high] = point;
  const top = high.pop() ?? 0;
  if (top > 0x7f) return false;
  return !(top === 0x7f && high.every((byte) => byte === 0xff) && low >= 0xed);
}

/** Tells whether each 12-bit little-endian coefficient is below ML-KEM's modulus. */
function isReduced(bytes: Uint8Array): boolean {
  for (let offset = 0; offset < bytes.length; offset += 3) {
    const [a, b, c] = [bytes[offset] ?? 0, bytes[offset + 1] ?? 0, bytes[offset + 2] ?? 0];
    if ((a | ((b & 0x0f) << 8)) >= MLKEM_MODULUS || ((b >> 4) | (c << 4)) >= MLKEM_MODULUS) return false;
  }
  return true;
}

function deriveSeed(seed: Uint8Array, label: string, { keyServer, publisher }: KeyIssuer): Promise<Uint8Array> {
  return hkdfExpand(seed, lengthPrefixed(utf8(label), utf8(keyServer), keyIdBytes(publisher)), 32);
}

function invalid(why: string): KeyError {
  return new KeyError('binding-malformed', `the device's public key is refused: ${why}`);
}
