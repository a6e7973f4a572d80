/** Requests of a device for keys, and answers to them: docs/spec/keys.md, "Key requests". */
import { aes256GcmOpen, aes256GcmSeal, randomBytes, sha256 } from '#primitives';
import { isKeyId, type KeyId } from '../crypto/key-id.ts';
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
import { type DerivedDeviceKeys, type DeviceKeyHandle, keyAnswerKey, requestMacKey } from './device-key.ts';
import { KeyError } from './errors.ts';
import { MESSAGE_LIMITS } from './limits.ts';
import { isRefusedKey, MAXIMUM_KEYS_PER_REQUEST, type RefusedKey } from './refused-key.ts';
import { isMacBy, macMessage, parseMessage } from './sealed-message.ts';
import { isWrappedKey, type NamedKey, type WrappedKey } from './wrapped-key.ts';

const REQUEST_LABEL = 'wispr/1 key request';
const ANSWER_LABEL = utf8('wispr/1 key answer\n');
const NONCE_LENGTH = 16;
const GCM_NONCE_LENGTH = 12;

export const KEY_REQUEST_PATH = '/v1/keys';

/** Seconds by which the clocks of device and key server may differ. */
export const REQUEST_TIME_TOLERANCE = 300;

export interface KeyRequest {
  /** Key id of the device key. */
  readonly device: KeyId;
  /** Key ids of the keys asked for; none stands twice. */
  readonly keys: readonly KeyId[];
  /** base64url of 16 random bytes. */
  readonly nonce: string;
  /** Seconds since 1970, by the device's clock. */
  readonly time: number;
}

export interface KeyAnswer {
  readonly keys: readonly WrappedKey[];
  readonly refused: readonly RefusedKey[];
  /** Seconds since 1970, by the key server's clock. */
  readonly time: number;
}

/** The device's request; the MAC proves possession of the device key. `keyServer` is the origin that is asked. */
export async function encodeKeyRequest(
  device: NamedKey | DeviceKeyHandle,
  keyServer: string,
  keys: readonly KeyId[],
  time: number,
): Promise<Uint8Array> {
  const request: KeyRequest = { device: device.id, keys, nonce: toBase64url(randomBytes(NONCE_LENGTH)), time };
  const key = 'key' in device ? await requestMacKey(device.key) : device.mac;
  return canonicalJson((await macMessage(requestLabel(keyServer), request, key)) as unknown as JsonObject);
}

/**
 * Checks the form of a request. Nothing in it is proved: see {@link isRequestBy}.
 *
 * @throws KeyError `request-malformed`
 */
export function parseKeyRequest(bytes: Uint8Array): KeyRequest {
  const message = parseMessage(bytes, MESSAGE_LIMITS.keyRequest);
  if (!message || !hasMembers(message, ['device', 'keys', 'mac', 'nonce', 'time']) || !hasRequestForm(message)) {
    throw new KeyError('request-malformed', 'the key request is not of the form that the protocol allows');
  }
  return message as unknown as KeyRequest;
}

/**
 * Tells whether a request was made by the holder of `deviceKey`. For a device that is not known the server calls this with a decoy
 * key, so that both cases cost the same and get the same answer.
 */
export async function isRequestBy(
  request: KeyRequest,
  keyServer: string,
  deviceKey: Uint8Array | DerivedDeviceKeys,
): Promise<boolean> {
  const key = 'mac' in deviceKey ? deviceKey.mac : await requestMacKey(deviceKey);
  return isMacBy(requestLabel(keyServer), request as unknown as JsonObject, key);
}

/** The server's answer, readable by the device only and only as the answer to this request. */
export async function encodeKeyAnswer(
  answer: KeyAnswer,
  request: Uint8Array,
  deviceKey: Uint8Array | DerivedDeviceKeys,
): Promise<Uint8Array> {
  const nonce = randomBytes(GCM_NONCE_LENGTH);
  const plaintext = canonicalJson(answer as unknown as JsonObject);
  const key = 'answer' in deviceKey ? deviceKey.answer : await keyAnswerKey(deviceKey);
  const sealed = await aes256GcmSeal(key, nonce, plaintext, await answerContext(request));
  return concat(nonce, sealed);
}

/**
 * Opens an answer to `request`.
 *
 * @throws KeyError `answer-unreadable`: altered, an answer to another request, or not of the right form
 */
export async function openKeyAnswer(
  sealed: Uint8Array,
  request: Uint8Array,
  deviceKey: Uint8Array | DeviceKeyHandle,
): Promise<KeyAnswer> {
  const within = sealed.length <= MESSAGE_LIMITS.keyAnswer && sealed.length > GCM_NONCE_LENGTH;
  const [nonce, body] = [sealed.subarray(0, GCM_NONCE_LENGTH), sealed.subarray(GCM_NONCE_LENGTH)];
  const plaintext = within ? await openUnder(deviceKey, nonce, body, await answerContext(request)) : undefined;
  const answer = plaintext && parseCanonicalJson(plaintext);
  if (!isKeyAnswer(answer))
    throw new KeyError('answer-unreadable', "the key server's answer is not an answer to this request");
  return answer;
}

function hasRequestForm({ device, keys, nonce, time }: JsonObject): boolean {
  return (
    isKeyId(device) &&
    areKeysWanted(keys) &&
    fromBase64url(nonce, NONCE_LENGTH) !== undefined &&
    typeof time === 'number'
  );
}

/** Tells whether a received value names keys to be asked for. */
export function areKeysWanted(keys: unknown): keys is readonly KeyId[] {
  return (
    Array.isArray(keys) &&
    keys.length >= 1 &&
    keys.length <= MAXIMUM_KEYS_PER_REQUEST &&
    keys.every(isKeyId) &&
    new Set(keys).size === keys.length
  );
}

function isKeyAnswer(value: Json | undefined): value is JsonObject & KeyAnswer {
  if (!isJsonObject(value) || !hasMembers(value, ['keys', 'refused', 'time']) || typeof value.time !== 'number')
    return false;
  const { keys, refused } = value;
  return Array.isArray(keys) && Array.isArray(refused) && keys.every(isWrappedKey) && refused.every(isRefusedKey);
}

function requestLabel(keyServer: string): string {
  return `${REQUEST_LABEL} ${keyServer}`;
}

async function openUnder(
  deviceKey: Uint8Array | DeviceKeyHandle,
  ...sealed: Parameters<DeviceKeyHandle['openAnswer']>
) {
  if ('openAnswer' in deviceKey) return deviceKey.openAnswer(...sealed);
  return aes256GcmOpen(await keyAnswerKey(deviceKey), ...sealed);
}

async function answerContext(request: Uint8Array): Promise<Uint8Array> {
  return concat(ANSWER_LABEL, await sha256(request));
}
