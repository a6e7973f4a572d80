/**
 * Binding, the exchange that connects a device with a key server: docs/spec/keys.md, "Binding". Three steps:
 * the device's request, the issuer's answer, and the device's acceptance.
 */
import {
  equalSecrets,
  hmacSha256,
  sha256,
  XWING_CIPHERTEXT_LENGTH,
  xwingDecapsulate,
  xwingEncapsulate,
} from '#primitives';
import { hkdfExpand } from '../crypto/hkdf.ts';
import { isKeyId, KEY_LENGTH, type KeyId, keyIdBytes, keyIdOf } from '../crypto/key-id.ts';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { lengthPrefixed, utf8 } from '../encoding/bytes.ts';
import { canonicalJson, hasMembers, type JsonObject } from '../encoding/canonical-json.ts';
import { checkXwingPublicKey, type DeviceKeys, type KeyIssuer } from './device.ts';
import { KeyError } from './errors.ts';
import { areKeysWanted } from './key-request.ts';
import { MESSAGE_LIMITS } from './limits.ts';
import { isSignedBy, parseMessage, signMessage, signMessageBy } from './sealed-message.ts';
import type { NamedKey } from './wrapped-key.ts';

const REQUEST_LABEL = 'wispr/1 binding request';
/** Label for a browser, whose session stands for the code: docs/spec/web-reader.md, "Devices of browsers". */
const BROWSER_REQUEST_LABEL = 'wispr/1 browser binding request';
/** Label for a device that has no device key any more: docs/spec/keys.md, "Renewal". */
const RENEWAL_LABEL = 'wispr/1 device key renewal';

const MEMBERS = ['ed25519', 'publisher', 'signature', 'time', 'xwing'] as const;

export const BINDING_PATH = '/v1/bindings';
/** Path of requests for another device key. */
export const RENEWAL_PATH = '/v1/renewals';

export interface BrowserBindingRequest {
  /** base64url of the device's Ed25519 public key. */
  readonly ed25519: string;
  /** Key id of the publisher that the device means. */
  readonly publisher: KeyId;
  /** Seconds since 1970. */
  readonly time: number;
  /** base64url of the device's X-Wing public key. */
  readonly xwing: string;
}

/** A browser's request, which asks for its first keys too: it has a session instead of a device key to prove itself by. */
export interface BrowserDeviceRequest extends BrowserBindingRequest {
  readonly keys: readonly KeyId[];
}

export interface BindingRequest extends BrowserBindingRequest {
  /** The invitation code, as {@link normaliseCode} returns it. */
  readonly code: string;
}

export interface BindingAnswer {
  /** base64url of the X-Wing ciphertext. */
  readonly ciphertext: string;
  /** base64url of a MAC that shows the issuer holds the device key. */
  readonly confirmation: string;
}

/** A request whose form, keys and signature were checked. */
export type VerifiedRequest<Request extends BrowserBindingRequest> = Request & { readonly xwingPublicKey: Uint8Array };

/** The code of an invitation without the marks that people read it by; `undefined` if it cannot be one. */
export function normaliseCode(text: string): string | undefined {
  // Crockford's base32: letters that look like digits are read as them.
  const code = text.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1');
  return /^[0-9A-HJKMNP-TV-Z]{16}$/.test(code) ? code : undefined;
}

export function encodeBindingRequest(device: DeviceKeys, publisher: KeyId, code: string, time: number): Uint8Array {
  const request: BindingRequest = { code, ...requestOf(device, publisher, time) };
  return canonicalJson(signMessage(REQUEST_LABEL, request, device.ed25519.secretKey) as unknown as JsonObject);
}

/** The request of a device that was bound before, for another device key. */
export function encodeRenewalRequest(device: DeviceKeys, publisher: KeyId, time: number): Uint8Array {
  const request = requestOf(device, publisher, time);
  return canonicalJson(signMessage(RENEWAL_LABEL, request, device.ed25519.secretKey) as unknown as JsonObject);
}

/** A browser's device, of one binding: its private keys stay where they are. */
export interface BrowserDevice {
  readonly xwing: {
    readonly publicKey: Uint8Array;
    /** @param ciphertext - of X-Wing */
    readonly decapsulate: (ciphertext: Uint8Array) => Promise<Uint8Array | undefined>;
  };
  readonly ed25519: {
    readonly publicKey: Uint8Array;
    readonly sign: (message: Uint8Array) => Promise<Uint8Array>;
  };
}

/** The request of a browser in which the subscriber is signed in. @param keys - that it asks for */
export async function encodeBrowserBindingRequest(
  device: BrowserDevice,
  publisher: KeyId,
  time: number,
  keys: readonly KeyId[],
): Promise<Uint8Array> {
  const request: BrowserDeviceRequest = { ...requestOf(device, publisher, time), keys };
  const message = await signMessageBy(BROWSER_REQUEST_LABEL, request, device.ed25519.sign);
  return canonicalJson(message as unknown as JsonObject);
}

/**
 * The issuer's checks: form, keys, and possession of the signing key. The caller decides whether the code is good.
 *
 * @throws KeyError `binding-malformed`
 */
export async function verifyBindingRequest(bytes: Uint8Array): Promise<VerifiedRequest<BindingRequest>> {
  const verified = await verify<BindingRequest>(bytes, REQUEST_LABEL, ['code', ...MEMBERS]);
  if (normaliseCode(String(verified.code)) === verified.code) return verified;
  throw new KeyError('binding-malformed', 'the binding request has a code that is not of the right form');
}

/**
 * The same for the request of a browser. The caller decides whose session it came with.
 *
 * @throws KeyError `binding-malformed`
 */
export async function verifyBrowserBindingRequest(bytes: Uint8Array): Promise<VerifiedRequest<BrowserDeviceRequest>> {
  const members = ['keys', ...MEMBERS];
  const limit = MESSAGE_LIMITS.browserBinding;
  const verified = await verify<BrowserDeviceRequest>(bytes, BROWSER_REQUEST_LABEL, members, limit);
  if (areKeysWanted(verified.keys)) return verified;
  throw new KeyError('binding-malformed', 'the binding request asks for no keys, or for what are none');
}

/**
 * The same for a device that wants another device key. The caller decides whether it was bound.
 *
 * @throws KeyError `binding-malformed`
 */
export function verifyRenewalRequest(bytes: Uint8Array): Promise<VerifiedRequest<BrowserBindingRequest>> {
  return verify<BrowserBindingRequest>(bytes, RENEWAL_LABEL, MEMBERS);
}

function requestOf(
  { ed25519, xwing }: BrowserDevice | DeviceKeys,
  publisher: KeyId,
  time: number,
): BrowserBindingRequest {
  return { ed25519: toBase64url(ed25519.publicKey), publisher, time, xwing: toBase64url(xwing.publicKey) };
}

async function verify<Request extends BrowserBindingRequest>(
  bytes: Uint8Array,
  label: string,
  members: readonly string[],
  longest: number = MESSAGE_LIMITS.bindingRequest,
): Promise<VerifiedRequest<Request>> {
  const message = parseMessage(bytes, longest);
  if (message === undefined || !hasMembers(message, members)) {
    throw new KeyError('binding-malformed', 'the binding request is not of the form that the protocol allows');
  }
  const { publisher, time } = message;
  const signer = fromBase64url(message.ed25519, KEY_LENGTH);
  const xwingPublicKey = fromBase64url(message.xwing);
  if (!isKeyId(publisher) || typeof time !== 'number' || !signer || !xwingPublicKey) {
    throw new KeyError('binding-malformed', 'the binding request has a member that is not of the right form');
  }
  checkXwingPublicKey(xwingPublicKey);
  if (!(await isSignedBy(label, message, signer))) {
    throw new KeyError('binding-malformed', 'the binding request is not signed by the device');
  }
  return { ...(message as unknown as Request), xwingPublicKey };
}

/** The issuer's answer: a fresh device key, encapsulated to the device. `keyServer` is the issuer's own origin. */
export async function answerBinding(
  request: Uint8Array,
  verified: VerifiedRequest<BrowserBindingRequest>,
  keyServer: string,
): Promise<{ answer: Uint8Array; deviceKey: NamedKey }> {
  const { ciphertext, sharedSecret } = xwingEncapsulate(verified.xwingPublicKey);
  const provider = { keyServer, publisher: verified.publisher };
  const deviceKey = await deriveDeviceKey(sharedSecret, provider, request, ciphertext);
  const answer: BindingAnswer = {
    ciphertext: toBase64url(ciphertext),
    confirmation: toBase64url(await confirmationOf(deviceKey.key)),
  };
  return { answer: canonicalJson({ ...answer }), deviceKey };
}

/** The device's acceptance: the device key that the issuer now holds too. @throws KeyError `binding-malformed` */
export function acceptBinding(
  request: Uint8Array,
  answer: Uint8Array,
  { xwing }: DeviceKeys,
  provider: KeyIssuer,
): Promise<NamedKey> {
  const decapsulate = async (ciphertext: Uint8Array) => xwingDecapsulate(ciphertext, xwing.secretKey);
  return acceptBy(request, answer, decapsulate, provider);
}

/** Acceptance by a browser. @throws KeyError `binding-malformed` */
export function acceptBrowserBinding(
  request: Uint8Array,
  answer: Uint8Array,
  { xwing }: BrowserDevice,
  provider: KeyIssuer,
): Promise<NamedKey> {
  return acceptBy(request, answer, xwing.decapsulate, provider);
}

async function acceptBy(
  request: Uint8Array,
  answer: Uint8Array,
  decapsulate: BrowserDevice['xwing']['decapsulate'],
  provider: KeyIssuer,
): Promise<NamedKey> {
  const message = parseMessage(answer, MESSAGE_LIMITS.bindingAnswer);
  const ciphertext = fromBase64url(message?.ciphertext, XWING_CIPHERTEXT_LENGTH);
  const confirmation = fromBase64url(message?.confirmation, 32);
  if (!message || !hasMembers(message, ['ciphertext', 'confirmation']) || !ciphertext || !confirmation) {
    throw new KeyError('binding-malformed', "the key server's answer is not of the form that the protocol allows");
  }
  const sharedSecret = await decapsulate(ciphertext);
  const deviceKey = sharedSecret && (await deriveDeviceKey(sharedSecret, provider, request, ciphertext));
  if (!deviceKey || !equalSecrets(confirmation, await confirmationOf(deviceKey.key))) {
    throw new KeyError('binding-malformed', "the key server's answer was not made for this device and this request");
  }
  return deviceKey;
}

async function deriveDeviceKey(
  sharedSecret: Uint8Array,
  { keyServer, publisher }: KeyIssuer,
  request: Uint8Array,
  ciphertext: Uint8Array,
): Promise<NamedKey> {
  const [label, origin] = [utf8('wispr/1 device key'), utf8(keyServer)];
  const info = lengthPrefixed(label, origin, keyIdBytes(publisher), await sha256(request), await sha256(ciphertext));
  const key = await hkdfExpand(sharedSecret, info, KEY_LENGTH);
  return { id: await keyIdOf('device', key), key };
}

async function confirmationOf(deviceKey: Uint8Array): Promise<Uint8Array> {
  const key = await hkdfExpand(deviceKey, lengthPrefixed(utf8('wispr/1 binding confirmation')), KEY_LENGTH);
  return hmacSha256(key, utf8('wispr/1 binding confirmation'));
}
