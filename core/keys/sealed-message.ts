/**
 * Messages are canonical JSON objects. A signature or a MAC stands in a member of its own, and covers a label and the canonical
 * form of all the other members: docs/spec/keys.md, "Messages".
 */
import { ed25519Sign, ed25519Verify, equalSecrets, hmacSha256 } from '#primitives';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { concat, lengthPrefixed, utf8 } from '../encoding/bytes.ts';
import { canonicalJson, isJsonObject, type JsonObject, parseCanonicalJson } from '../encoding/canonical-json.ts';

/** Parses a message of at most `maximumLength` bytes; `undefined` if it is longer or not a canonical JSON object. */
export function parseMessage(bytes: Uint8Array, maximumLength: number): JsonObject | undefined {
  const value = bytes.length <= maximumLength ? parseCanonicalJson(bytes) : undefined;
  return isJsonObject(value) ? value : undefined;
}

/** Adds the member `signature`. */
export function signMessage<Message extends object>(
  label: string,
  message: Message,
  secretKey: Uint8Array,
): Message & { signature: string } {
  const signature = ed25519Sign(signedBytes(label, message as JsonObject), secretKey);
  return { ...message, signature: toBase64url(signature) };
}

/** Adds the member `signature` by a key that cannot be read. */
export async function signMessageBy<Message extends object>(
  label: string,
  message: Message,
  sign: (bytes: Uint8Array) => Promise<Uint8Array>,
): Promise<Message & { signature: string }> {
  return { ...message, signature: toBase64url(await sign(signedBytes(label, message as JsonObject))) };
}

/** Tells whether the member `signature` is valid under `publicKey`. */
export async function isSignedBy(label: string, message: JsonObject, publicKey: Uint8Array): Promise<boolean> {
  const { signature, ...rest } = message;
  const bytes = fromBase64url(signature, 64);
  return bytes !== undefined && ed25519Verify(bytes, signedBytes(label, rest), publicKey);
}

/** Adds the member `mac`, HMAC-SHA-256. @param key - or what computes it under a key that cannot be read */
export async function macMessage<Message extends object>(
  label: string,
  message: Message,
  key: Uint8Array | ((message: Uint8Array) => Promise<Uint8Array>),
): Promise<Message & { mac: string }> {
  const bytes = signedBytes(label, message as JsonObject);
  return { ...message, mac: toBase64url(await (typeof key === 'function' ? key(bytes) : hmacSha256(key, bytes))) };
}

/** Tells whether the member `mac` is right, in constant time. */
export async function isMacBy(label: string, message: JsonObject, key: Uint8Array): Promise<boolean> {
  const { mac, ...rest } = message;
  const given = fromBase64url(mac, 32);
  const right = await hmacSha256(key, signedBytes(label, rest));
  return given !== undefined && equalSecrets(given, right);
}

function signedBytes(label: string, message: JsonObject): Uint8Array {
  return concat(lengthPrefixed(utf8(label)), canonicalJson(message));
}
