/** Devices and binding: docs/spec/keys.md sections 6 and 7. */
import { hmacSha256, sha256, xwingEncapsulateForVectors, xwingKeyPair } from '#primitives';
import { hkdfExpand } from '../../../core/crypto/hkdf.ts';
import { keyIdBytes, keyIdOf } from '../../../core/crypto/key-id.ts';
import { toBase64url } from '../../../core/encoding/base64url.ts';
import { concat, lengthPrefixed, utf8 } from '../../../core/encoding/bytes.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../core/encoding/canonical-json.ts';
import { deriveDeviceKeys } from '../../../core/keys/device.ts';
import { signMessage } from '../../../core/keys/sealed-message.ts';
import { type KeyVector, toBase64 } from '../format.ts';
import { NOW, otherRootId, rootId, secret } from './fixed.ts';
import { flipBit } from './forge.ts';
import { KEY_SERVER } from './keys-descriptor.ts';

const CODE = '0123456789ABCDEF';
const LABEL = 'wispr/1 binding request';
const seed = await secret('seed of the device');
const provider = { keyServer: KEY_SERVER, publisher: rootId };
const device = await deriveDeviceKeys(seed, provider);
const stranger = await deriveDeviceKeys(await secret('seed of another device'), provider);

export async function bindingVectors(): Promise<KeyVector[]> {
  return [...(await deviceKeys()), ...(await xwing()), ...checkedKeys(), ...requests(), ...(await answers())];
}

async function deviceKeys(): Promise<KeyVector[]> {
  const providers = [
    provider,
    { keyServer: 'https://other.example', publisher: rootId },
    { keyServer: KEY_SERVER, publisher: otherRootId },
  ];
  return Promise.all(
    providers.map(async (each, index) => {
      const keys = await deriveDeviceKeys(seed, each);
      return {
        name: `device keys, provider ${index + 1}`,
        operation: 'derive-device',
        input: { seed: toBase64(seed), ...each },
        outcome: 'success',
        result: { xwing: toBase64(keys.xwing.publicKey), ed25519: toBase64(keys.ed25519.publicKey) },
      };
    }),
  );
}

async function encapsulated(
  name: string,
  publicKey: Uint8Array,
): Promise<{ ciphertext: Uint8Array; sharedSecret: Uint8Array }> {
  const coins = concat(await secret(`${name}, first half`), await secret(`${name}, second half`));
  return xwingEncapsulateForVectors(publicKey, coins);
}

async function xwing(): Promise<KeyVector[]> {
  const pair = xwingKeyPair(seed);
  const { ciphertext, sharedSecret } = await encapsulated('x-wing', pair.publicKey);
  const decapsulate = (name: string, bytes: Uint8Array, secretBytes: string): KeyVector => ({
    name: `x-wing, ${name}`,
    operation: 'xwing-decapsulate',
    input: { seed: toBase64(seed), ciphertext: toBase64(bytes) },
    outcome: 'success',
    result: { publicKey: toBase64(pair.publicKey), sharedSecret: secretBytes },
  });
  return [
    decapsulate('good', ciphertext, toBase64(sharedSecret)),
    decapsulate('point of small order', concat(ciphertext.subarray(0, 1088), new Uint8Array(32)), ''),
  ];
}

/** X25519 points of small order, canonical ones first: RFC 7748 section 6.1 has why they are refused. */
const SMALL_ORDER = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
];

const NOT_CANONICAL = {
  'p itself': 'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'p + 1': 'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'p + 9, the base point again': 'f6ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '2^255 - 1': 'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'bit 255 set': '0900000000000000000000000000000000000000000000000000000000000080',
  'all bits set': 'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
};

function checkedKeys(): KeyVector[] {
  const { publicKey } = device.xwing;
  const check = (name: string, outcome: string, xwing: Uint8Array, attacks: number[]): KeyVector => ({
    name: `device public key, ${name}`,
    attacks,
    operation: 'check-device-key',
    input: { xwing: toBase64(xwing) },
    outcome,
  });
  const withPoint = (hex: string) =>
    concat(
      publicKey.subarray(0, 1184),
      Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)),
    );
  const coefficient = (offset: number, bytes: number[]) => {
    const changed = new Uint8Array(publicKey);
    changed.set(bytes, offset);
    return changed;
  };
  return [
    check('good', 'success', publicKey, [41]),
    check('x25519 part the base point', 'success', withPoint(`09${'00'.repeat(31)}`), [41]),
    check('x25519 part p - 2', 'success', withPoint(`ebff${'ff'.repeat(29)}7f`), [75]),
    check('coefficient of 3,328', 'success', coefficient(0, [0x00, 0x0d, 0x00]), [41]),
    ...SMALL_ORDER.map((hex) => check(`small order ${hex.slice(0, 8)}`, 'binding-malformed', withPoint(hex), [41])),
    ...Object.entries(NOT_CANONICAL).map(([name, hex]) => check(name, 'binding-malformed', withPoint(hex), [75])),
    check('empty', 'binding-malformed', new Uint8Array(0), [41]),
    check('one byte short', 'binding-malformed', publicKey.subarray(0, -1), [41]),
    check('one byte long', 'binding-malformed', concat(publicKey, Uint8Array.of(0)), [41]),
    check('first coefficient of 3,329', 'binding-malformed', coefficient(0, [0x01, 0x0d]), [41]),
    check('last coefficient of 4,095', 'binding-malformed', coefficient(1150, [0xf0, 0xff]), [41]),
  ];
}

function request(changes: Record<string, Json | undefined> = {}, keys = device, label = LABEL): Uint8Array {
  const members = {
    code: CODE,
    ed25519: toBase64url(keys.ed25519.publicKey),
    publisher: rootId,
    time: NOW,
    xwing: toBase64url(keys.xwing.publicKey),
    ...changes,
  };
  const kept = Object.entries(members).filter(([, value]) => value !== undefined);
  return canonicalJson(signMessage(label, Object.fromEntries(kept) as JsonObject, keys.ed25519.secretKey));
}

function requests(): KeyVector[] {
  const verify = (name: string, outcome: string, bytes: Uint8Array, attacks?: number[]): KeyVector => ({
    name: `binding request, ${name}`,
    ...(attacks && { attacks }),
    operation: 'verify-binding-request',
    input: { request: toBase64(bytes) },
    outcome,
    ...(outcome === 'success' && { result: { code: CODE, publisher: rootId, time: NOW } }),
  });
  const lowOrder = concat(device.xwing.publicKey.subarray(0, 1184), new Uint8Array(32));
  const highBit = flipBit(device.xwing.publicKey, 1215, 7);
  const good = JSON.parse(new TextDecoder().decode(request())) as JsonObject;
  return [
    verify('good', 'success', request()),
    verify('code in small letters', 'binding-malformed', request({ code: CODE.toLowerCase() })),
    verify('code with hyphens', 'binding-malformed', request({ code: '0123-4567-89AB-CDEF' })),
    verify('code with an O', 'binding-malformed', request({ code: 'O123456789ABCDEF' })),
    verify('code too short', 'binding-malformed', request({ code: '0123' })),
    verify('code a number', 'binding-malformed', request({ code: 1234567890123456 })),
    verify('without a member', 'binding-malformed', request({ time: undefined })),
    verify('with a member more', 'binding-malformed', request({ extra: 1 })),
    verify('publisher that is no key id', 'binding-malformed', request({ publisher: 'AAAA' })),
    verify('ed25519 key too short', 'binding-malformed', request({ ed25519: 'AAAA' })),
    verify('time as text', 'binding-malformed', request({ time: String(NOW) })),
    verify('too long', 'binding-malformed', request({ xwing: 'A'.repeat(8192) })),
    verify('not canonical', 'binding-malformed', concat(request(), utf8('\n'))),
    verify(
      'x-wing key with padding',
      'binding-malformed',
      request({ xwing: `${toBase64url(device.xwing.publicKey)}==` }),
    ),
    verify(
      'x-wing key too short',
      'binding-malformed',
      request({ xwing: toBase64url(device.xwing.publicKey.subarray(1)) }),
      [41],
    ),
    verify('x25519 part of small order', 'binding-malformed', request({ xwing: toBase64url(lowOrder) }), [41]),
    verify('x25519 part with bit 255 set', 'binding-malformed', request({ xwing: toBase64url(highBit) }), [75]),
    verify(
      'signed by another key',
      'binding-malformed',
      canonicalJson({ ...good, ed25519: toBase64url(stranger.ed25519.publicKey) }),
    ),
    verify(
      'x-wing key exchanged',
      'binding-malformed',
      canonicalJson({ ...good, xwing: toBase64url(stranger.xwing.publicKey) }),
    ),
    verify('signed as another message', 'binding-malformed', request({}, device, 'wispr/1 provider descriptor')),
    verify(
      'ed25519 key of small order',
      'binding-malformed',
      canonicalJson({
        ...good,
        ed25519: toBase64url(Uint8Array.of(1, ...new Uint8Array(31))),
        signature: toBase64url(Uint8Array.of(1, ...new Uint8Array(63))),
      }),
    ),
  ];
}

async function answers(): Promise<KeyVector[]> {
  const bytes = request();
  const { ciphertext, sharedSecret } = await encapsulated('binding', device.xwing.publicKey);
  const key = await deriveKey(bytes, ciphertext, sharedSecret);
  const good = { ciphertext: toBase64url(ciphertext), confirmation: toBase64url(await confirm(key)) };
  const accept = (
    name: string,
    outcome: string,
    answer: Uint8Array,
    changes: Record<string, string> = {},
    attacks?: number[],
  ): KeyVector => ({
    name: `binding answer, ${name}`,
    ...(attacks && { attacks }),
    operation: 'accept-binding',
    input: { seed: toBase64(seed), ...provider, request: toBase64(bytes), answer: toBase64(answer), ...changes },
    outcome,
  });
  const answer = canonicalJson(good);
  const lowOrder = concat(ciphertext.subarray(0, 1088), new Uint8Array(32));
  const lowOrderKey = await deriveKey(bytes, lowOrder, new Uint8Array(32));
  return [
    { ...accept('good', 'success', answer), result: { id: await keyIdOf('device', key), key: toBase64(key) } },
    accept('to another request', 'binding-malformed', answer, { request: toBase64(request({ time: NOW + 1 })) }, [74]),
    accept('to another device', 'binding-malformed', answer, {
      seed: toBase64(await secret('seed of another device')),
    }),
    accept('of another key server', 'binding-malformed', answer, { keyServer: 'https://other.example' }),
    accept('for another publisher', 'binding-malformed', answer, { publisher: otherRootId }),
    accept(
      'ciphertext altered',
      'binding-malformed',
      canonicalJson({ ...good, ciphertext: toBase64url(flipBit(ciphertext, 5)) }),
    ),
    accept(
      'confirmation altered',
      'binding-malformed',
      canonicalJson({ ...good, confirmation: toBase64url(flipBit(await confirm(key), 5)) }),
    ),
    accept(
      'x25519 part of small order',
      'binding-malformed',
      canonicalJson({ ciphertext: toBase64url(lowOrder), confirmation: toBase64url(await confirm(lowOrderKey)) }),
      {},
      [41],
    ),
    accept(
      'ciphertext too short',
      'binding-malformed',
      canonicalJson({ ...good, ciphertext: toBase64url(ciphertext.subarray(1)) }),
    ),
    accept('with a member more', 'binding-malformed', canonicalJson({ ...good, extra: 1 })),
    accept('without confirmation', 'binding-malformed', canonicalJson({ ciphertext: good.ciphertext })),
    accept('not canonical', 'binding-malformed', concat(answer, utf8(' '))),
    accept('too long', 'binding-malformed', canonicalJson({ ...good, confirmation: 'A'.repeat(8192) })),
    accept('the request itself', 'binding-malformed', bytes, {}, [74]),
    accept('empty', 'binding-malformed', new Uint8Array(0)),
  ];
}

async function deriveKey(
  requestBytes: Uint8Array,
  ciphertext: Uint8Array,
  sharedSecret: Uint8Array,
): Promise<Uint8Array> {
  const digests = [await sha256(requestBytes), await sha256(ciphertext)];
  const info = lengthPrefixed(utf8('wispr/1 device key'), utf8(KEY_SERVER), keyIdBytes(rootId), ...digests);
  return hkdfExpand(sharedSecret, info, 32);
}

async function confirm(key: Uint8Array): Promise<Uint8Array> {
  const label = utf8('wispr/1 binding confirmation');
  return hmacSha256(await hkdfExpand(key, lengthPrefixed(label), 32), label);
}
