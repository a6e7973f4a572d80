/**
 * HPKE (RFC 9180) in base mode, for one message and one suite: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM. X25519 is WebCrypto's, so that
 * a recipient's private key need not be extractable. Names are those of the RFC.
 */
import { aes256GcmOpen, aes256GcmSeal, hmacSha256 } from '#symmetric';
import { concat, utf8 } from '../encoding/bytes.ts';
import { X25519_KEY_LENGTH, x25519Agree, x25519KeyPair, x25519PublicKey } from '../primitives/webcrypto-x25519.ts';

const VERSION = utf8('HPKE-v1');
/** "KEM" and the KEM's number; "HPKE" and the numbers of KEM, KDF and AEAD. */
const KEM_SUITE = concat(utf8('KEM'), Uint8Array.of(0x00, 0x20));
const SUITE = concat(utf8('HPKE'), Uint8Array.of(0x00, 0x20, 0x00, 0x01, 0x00, 0x02));
const MODE_BASE = Uint8Array.of(0);
const EMPTY = new Uint8Array(0);

/**
 * Encrypts a message to a public key.
 *
 * @param recipient - 32 bytes
 * @returns enc (32) || ciphertext; `undefined` where the public key is none, or of small order
 */
export async function hpkeSeal(
  recipient: Uint8Array,
  info: Uint8Array,
  plaintext: Uint8Array,
  additionalData: Uint8Array = EMPTY,
): Promise<Uint8Array | undefined> {
  const ephemeral = await x25519KeyPair(false);
  const enc = await x25519PublicKey(ephemeral);
  const dh = await x25519Agree(ephemeral.privateKey, recipient);
  if (dh === undefined) return undefined;
  const { key, nonce } = await schedule(await sharedSecret(dh, enc, recipient), info);
  return concat(enc, await aes256GcmSeal(key, nonce, plaintext, additionalData));
}

/**
 * Undoes {@link hpkeSeal}.
 *
 * @returns `undefined` where the message was altered, or made for another key or another `info`
 */
export async function hpkeOpen(
  recipient: CryptoKeyPair,
  info: Uint8Array,
  sealed: Uint8Array,
  additionalData: Uint8Array = EMPTY,
): Promise<Uint8Array | undefined> {
  const enc = sealed.subarray(0, X25519_KEY_LENGTH);
  const dh = await x25519Agree(recipient.privateKey, enc);
  if (dh === undefined) return undefined;
  const { key, nonce } = await schedule(await sharedSecret(dh, enc, await x25519PublicKey(recipient)), info);
  return aes256GcmOpen(key, nonce, sealed.subarray(X25519_KEY_LENGTH), additionalData);
}

/** ExtractAndExpand, section 4.1. */
async function sharedSecret(dh: Uint8Array, enc: Uint8Array, recipient: Uint8Array): Promise<Uint8Array> {
  const prk = await labeledExtract(KEM_SUITE, EMPTY, 'eae_prk', dh);
  return labeledExpand(KEM_SUITE, prk, 'shared_secret', concat(enc, recipient), 32);
}

/** KeySchedule, section 5.1, with neither PSK nor PSK id. The nonce is that of the first message. */
async function schedule(secret: Uint8Array, info: Uint8Array): Promise<{ key: Uint8Array; nonce: Uint8Array }> {
  const pskIdHash = await labeledExtract(SUITE, EMPTY, 'psk_id_hash', EMPTY);
  const infoHash = await labeledExtract(SUITE, EMPTY, 'info_hash', info);
  const context = concat(MODE_BASE, pskIdHash, infoHash);
  const prk = await labeledExtract(SUITE, secret, 'secret', EMPTY);
  return {
    key: await labeledExpand(SUITE, prk, 'key', context, 32),
    nonce: await labeledExpand(SUITE, prk, 'base_nonce', context, 12),
  };
}

/** An empty salt stands for 32 zero bytes (RFC 5869), which HMAC pads an empty key to. */
function labeledExtract(suite: Uint8Array, salt: Uint8Array, label: string, input: Uint8Array): Promise<Uint8Array> {
  return hmacSha256(salt.length === 0 ? new Uint8Array(32) : salt, concat(VERSION, suite, utf8(label), input));
}

/** HKDF-Expand of one block: `length` is at most 32. */
async function labeledExpand(suite: Uint8Array, prk: Uint8Array, label: string, info: Uint8Array, length: number) {
  const labeled = concat(Uint8Array.of(0, length), VERSION, suite, utf8(label), info);
  return (await hmacSha256(prk, concat(labeled, Uint8Array.of(1)))).subarray(0, length);
}
