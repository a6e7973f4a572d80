/** Set keys on their way to a content origin: from the vault, docs/spec/web-reader.md, "The sealed message"; the same message is in key files. */
import { isKeyId, KEY_LENGTH, type KeyId, keyIdOf } from '../crypto/key-id.ts';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { concat, utf8 } from '../encoding/bytes.ts';
import {
  canonicalJson,
  hasMembers,
  isJsonObject,
  type Json,
  type JsonObject,
  parseCanonicalJson,
} from '../encoding/canonical-json.ts';
import { KeyError } from './errors.ts';
import { hpkeOpen, hpkeSeal } from './hpke.ts';
import { isRefusedKey, MAXIMUM_KEYS_PER_REQUEST, type RefusedKey } from './refused-key.ts';

const INFO_LABEL = utf8('wispr/1 keys for documents\n');
const MAXIMUM_PLAINTEXT = 131_072;
const MAXIMUM_TITLE = 100;

/** Set ids that a content origin asks for at once. */
export const MAXIMUM_SETS_WANTED = 64;

/** A set key and when it may be used: seconds since 1970, inclusive. */
export interface DocumentKey {
  readonly id: KeyId;
  readonly key: Uint8Array;
  readonly notBefore: number;
  readonly notAfter: number;
  /** Title of the set, for readers. */
  readonly title?: string | undefined;
}

export interface DocumentKeys {
  readonly keys: readonly DocumentKey[];
  /** The greatest publication pair that the vault has seen. */
  readonly pair?: { readonly snapshot: number; readonly timestamp: number } | undefined;
  readonly refused: readonly RefusedKey[];
  /** Seconds since 1970, by the key server's clock. */
  readonly time: number;
}

/**
 * Seals keys to the X25519 key of a content origin.
 *
 * @param recipient - 32 bytes
 * @throws KeyError `hand-over-refused` where `recipient` is no public key
 */
export async function sealDocumentKeys(
  recipient: Uint8Array,
  contentOrigin: string,
  keys: DocumentKeys,
): Promise<Uint8Array> {
  const whole = encodeDocumentKeys(keys);
  const plaintext = whole.length <= MAXIMUM_PLAINTEXT ? whole : encodeDocumentKeys(withoutTitles(keys));
  const sealed = await hpkeSeal(recipient, infoOf(contentOrigin), plaintext);
  if (sealed === undefined) throw refuse('the key that keys are to be sealed to is none');
  return sealed;
}

/** Opens what {@link sealDocumentKeys} made: steps V2 to V4. @throws KeyError `hand-over-refused` */
export async function openDocumentKeys(
  recipient: CryptoKeyPair,
  contentOrigin: string,
  sealed: Uint8Array,
): Promise<DocumentKeys> {
  // V2
  const plaintext = await hpkeOpen(recipient, infoOf(contentOrigin), sealed);
  if (plaintext === undefined) throw refuse('the keys that arrived were not sealed for this browser');
  // V3
  const message =
    plaintext.length <= MAXIMUM_PLAINTEXT ? parseDocumentKeys(plaintext, MAXIMUM_KEYS_PER_REQUEST) : undefined;
  if (message === undefined) throw refuse('the keys that arrived are not of the form that the protocol allows');
  // V4
  if (!(await areNamedRight(message))) throw refuse('a key that arrived is not the key that it is named');
  return message;
}

/** The plain text: canonical JSON. */
export function encodeDocumentKeys({ keys, pair, refused, time }: DocumentKeys): Uint8Array {
  const message = {
    keys: keys.map(({ id, key, notAfter, notBefore, title }) => ({
      ...{ id, key: toBase64url(key), notAfter, notBefore },
      ...(title !== undefined && { title }),
    })),
    ...(pair && { pair: { snapshot: pair.snapshot, timestamp: pair.timestamp } }),
    refused: refused.map(({ id, reason }) => ({ id, reason })),
    time,
  };
  return canonicalJson(message as unknown as Json);
}

function withoutTitles(message: DocumentKeys): DocumentKeys {
  return { ...message, keys: message.keys.map(({ title: _, ...key }) => key) };
}

/** Undoes {@link encodeDocumentKeys}; `undefined` for what has another form. @param most - keys */
export function parseDocumentKeys(plaintext: Uint8Array, most: number): DocumentKeys | undefined {
  const message = parseCanonicalJson(plaintext);
  if (!isForm(message, most)) return undefined;
  const { keys, pair, refused, time } = message as unknown as Omit<DocumentKeys, 'keys'> & { keys: readonly Listed[] };
  const opened = keys.map((each) => ({ ...each, key: fromBase64url(each.key, KEY_LENGTH) ?? new Uint8Array(0) }));
  return { keys: opened, pair, refused, time };
}

/** Tells whether each key hashes to its id. */
export async function areNamedRight({ keys }: DocumentKeys): Promise<boolean> {
  for (const { id, key } of keys) if (key.length !== KEY_LENGTH || (await keyIdOf('set', key)) !== id) return false;
  return true;
}

type Listed = Omit<DocumentKey, 'key'> & { readonly key: string };

function infoOf(contentOrigin: string): Uint8Array {
  return concat(INFO_LABEL, utf8(contentOrigin));
}

function isForm(value: Json | undefined, most: number): value is JsonObject {
  if (!isJsonObject(value) || !hasMembers(value, ['keys', 'refused', 'time'], ['pair'])) return false;
  const { keys, pair, refused, time } = value;
  return (
    Array.isArray(keys) &&
    keys.length <= most &&
    keys.every(isListedKey) &&
    new Set(keys.map(({ id }) => id)).size === keys.length &&
    Array.isArray(refused) &&
    refused.every(isRefusedKey) &&
    (pair === undefined || isPair(pair)) &&
    typeof time === 'number'
  );
}

function isListedKey(value: Json): value is JsonObject {
  return (
    isJsonObject(value) &&
    hasMembers(value, ['id', 'key', 'notAfter', 'notBefore'], ['title']) &&
    (value.title === undefined || (typeof value.title === 'string' && value.title.length <= MAXIMUM_TITLE)) &&
    isKeyId(value.id) &&
    fromBase64url(value.key, KEY_LENGTH) !== undefined &&
    typeof value.notAfter === 'number' &&
    typeof value.notBefore === 'number'
  );
}

function isPair(value: Json): boolean {
  return (
    isJsonObject(value) &&
    hasMembers(value, ['snapshot', 'timestamp']) &&
    typeof value.snapshot === 'number' &&
    typeof value.timestamp === 'number'
  );
}

function refuse(message: string): KeyError {
  return new KeyError('hand-over-refused', message);
}
