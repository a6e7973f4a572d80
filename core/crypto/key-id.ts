/** Key ids, the public names of keys: docs/spec/keys.md, "Key ids". */
import { sha256 } from '#symmetric';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { concat, utf8 } from '../encoding/bytes.ts';

/** Length of every symmetric key, key id and Ed25519 public key, in bytes. */
export const KEY_LENGTH = 32;

/** base64url of 32 bytes: 43 characters. */
export type KeyId = string;

export type KeyKind = 'set' | 'period' | 'device' | 'publisher';

/**
 * The key id of a 32-byte key: SHA-256 of a label for its kind, and the key.
 *
 * @throws RangeError if it has another length
 */
export async function keyIdOf(kind: KeyKind, key: Uint8Array): Promise<KeyId> {
  if (key.length !== KEY_LENGTH) throw new RangeError('a key has 32 bytes');
  return toBase64url(await sha256(concat(utf8(`wispr/1 ${kind} key id\n`), key)));
}

/** Id of a key that is used for one document after the other; its bytes must not change. */
export async function knownKeyId(kind: KeyKind, key: Uint8Array): Promise<KeyId> {
  const known = knownIds.get(key);
  if (known?.kind === kind) return known.id;
  const id = await keyIdOf(kind, key);
  knownIds.set(key, { kind, id });
  return id;
}

const knownIds = new WeakMap<Uint8Array, { readonly kind: KeyKind; readonly id: KeyId }>();

/** Spelling of 32 bytes: the two unused bits of the last character are zero. */
const KEY_ID = /^[\w-]{42}[AEIMQUYcgkosw048]$/;

export function isKeyId(text: unknown): text is KeyId {
  return typeof text === 'string' && KEY_ID.test(text);
}

/** The 32 bytes that a key id spells. @throws TypeError if it is none */
export function keyIdBytes(id: KeyId): Uint8Array {
  const bytes = fromBase64url(id, KEY_LENGTH);
  if (bytes === undefined) throw new TypeError('not a key id');
  return bytes;
}
