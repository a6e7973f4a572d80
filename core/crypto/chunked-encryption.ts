/**
 * C2SP chunked-encryption (https://c2sp.org/chunked-encryption), instance Cobblestone-256: HKDF-Expand with SHA-512 and AES-256-GCM.
 *
 *   salt (24) || commitment (32) || chunk 0 || chunk 1 || … || last chunk
 */
import { randomBytes } from '#random';
import { openChunks, sealChunks } from '#symmetric';
import { concat, equalBytes, utf8 } from '../encoding/bytes.ts';
import { type ChunkKeys, PREFIX_LENGTH } from '../primitives/contract.ts';
import { type HmacHandle, hkdfExpand } from './hkdf.ts';

const SALT_LENGTH = 24;
const COMMITMENT_LENGTH = 32;
const INFO_LABEL = utf8('c2sp.org/chunked-encryption@v1+AEAD_AES_256_GCM\0');

export interface MessageKeys extends ChunkKeys {
  readonly commitment: Uint8Array;
}

/** The key that a message's keys are derived from: 32 bytes, or a handle of them. */
export type InputKey = Uint8Array | HmacHandle;

/** Derives a message's keys: the spec's section "Key derivation". */
async function deriveMessageKeys(inputKey: InputKey, salt: Uint8Array, context: Uint8Array): Promise<MessageKeys> {
  const isGood = typeof inputKey === 'function' || inputKey.length === 32;
  if (!isGood || salt.length !== SALT_LENGTH) throw new RangeError('wrong length of key or salt');
  const derived = await hkdfExpand(inputKey, concat(INFO_LABEL, salt, context), 32 + 12 + COMMITMENT_LENGTH);
  return { key: derived.subarray(0, 32), baseNonce: derived.subarray(32, 44), commitment: derived.subarray(44) };
}

/** Random bytes that no salt was taken from yet. To ask the system for many at once costs as much as to ask for a few. */
let unusedSalts: Uint8Array = new Uint8Array(0);

function drawSalt(): Uint8Array {
  if (unusedSalts.length < SALT_LENGTH) unusedSalts = randomBytes(128 * SALT_LENGTH);
  const salt = unusedSalts.slice(0, SALT_LENGTH);
  unusedSalts = unusedSalts.subarray(SALT_LENGTH);
  return salt;
}

/** A fresh message: its keys, and the prefix that stands before its chunks. The salt is random, always. */
export async function beginMessage(
  inputKey: Uint8Array,
  context: Uint8Array,
): Promise<{ keys: MessageKeys; prefix: Uint8Array }> {
  const salt = drawSalt();
  const keys = await deriveMessageKeys(inputKey, salt, context);
  return { keys, prefix: concat(salt, keys.commitment) };
}

/** The keys of the message that begins with `prefix`; `undefined` if the commitment is not to `inputKey` and `context`. */
export async function messageKeysFor(
  inputKey: InputKey,
  prefix: Uint8Array,
  context: Uint8Array,
): Promise<MessageKeys | undefined> {
  const keys = await deriveMessageKeys(inputKey, prefix.subarray(0, SALT_LENGTH), context);
  return equalBytes(keys.commitment, prefix.subarray(SALT_LENGTH, PREFIX_LENGTH)) ? keys : undefined;
}

/** Encrypts a short message whole. */
export async function sealMessage(inputKey: Uint8Array, context: Uint8Array, message: Uint8Array): Promise<Uint8Array> {
  const { keys, prefix } = await beginMessage(inputKey, context);
  return concat(prefix, await sealChunks(keys, 0, message, true));
}

/** Decrypts a short message whole; `undefined` if anything about it is wrong. */
export async function openMessage(
  inputKey: InputKey,
  context: Uint8Array,
  sealed: Uint8Array,
): Promise<Uint8Array | undefined> {
  if (sealed.length < PREFIX_LENGTH) return undefined;
  const keys = await messageKeysFor(inputKey, sealed.subarray(0, PREFIX_LENGTH), context);
  return keys && openChunks(keys, 0, sealed.subarray(PREFIX_LENGTH), true);
}
