/** Key requests and their answers: docs/spec/keys.md section 8. */
import { aes256GcmSeal, sha256 } from '#primitives';
import { hkdfExpand } from '../../../core/crypto/hkdf.ts';
import { toBase64url } from '../../../core/encoding/base64url.ts';
import { concat, lengthPrefixed, utf8 } from '../../../core/encoding/bytes.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../core/encoding/canonical-json.ts';
import { macMessage } from '../../../core/keys/sealed-message.ts';
import { type KeyVector, toBase64 } from '../format.ts';
import { NOW, otherSetKey, secret, setKey } from './fixed.ts';
import { flipBit } from './forge.ts';
import { KEY_SERVER } from './keys-descriptor.ts';
import { deviceKey, wrapFixed } from './keys-wrapped.ts';

const nonce = toBase64url((await secret('nonce of the key request')).subarray(0, 16));

async function request(
  changes: Record<string, Json | undefined> = {},
  label = `wispr/1 key request ${KEY_SERVER}`,
  key = deviceKey.key,
): Promise<Uint8Array> {
  const members = { device: deviceKey.id, keys: [setKey.id, otherSetKey.id], nonce, time: NOW, ...changes };
  const kept = Object.entries(members).filter(([, value]) => value !== undefined);
  const macKey = await hkdfExpand(key, lengthPrefixed(utf8('wispr/1 key request mac')), 32);
  return canonicalJson(await macMessage(label, Object.fromEntries(kept) as JsonObject, macKey));
}

export async function keyRequestVectors(): Promise<KeyVector[]> {
  return [...(await requests()), ...(await answers())];
}

async function requests(): Promise<KeyVector[]> {
  const verify = (
    name: string,
    outcome: string,
    bytes: Uint8Array,
    keys: string[] = [setKey.id, otherSetKey.id],
  ): KeyVector => ({
    name: `key request, ${name}`,
    operation: 'verify-key-request',
    input: { request: toBase64(bytes), keyServer: KEY_SERVER, deviceKey: toBase64(deviceKey.key) },
    outcome,
    ...(outcome === 'success' && { result: { device: deviceKey.id, keys, time: NOW } }),
  });
  const ids = await Promise.all(
    Array.from({ length: 257 }, async (_, index) => toBase64url(await secret(`id ${index}`))),
  );
  const good = JSON.parse(new TextDecoder().decode(await request())) as JsonObject;
  return [
    verify('good', 'success', await request()),
    verify('256 keys', 'success', await request({ keys: ids.slice(0, 256) }), ids.slice(0, 256)),
    verify('257 keys', 'request-malformed', await request({ keys: ids })),
    verify('no keys', 'request-malformed', await request({ keys: [] })),
    verify('a key twice', 'request-malformed', await request({ keys: [setKey.id, setKey.id] })),
    verify('a key that is no key id', 'request-malformed', await request({ keys: ['AAAA'] })),
    verify('keys not a list', 'request-malformed', await request({ keys: setKey.id })),
    verify('nonce too short', 'request-malformed', await request({ nonce: nonce.slice(0, -4) })),
    verify('without a nonce', 'request-malformed', await request({ nonce: undefined })),
    verify('with a member more', 'request-malformed', await request({ extra: 1 })),
    verify('device that is no key id', 'request-malformed', await request({ device: '' })),
    verify('time as text', 'request-malformed', await request({ time: String(NOW) })),
    verify('not canonical', 'request-malformed', concat(utf8(' '), await request())),
    verify('too long', 'request-malformed', await request({ nonce: 'A'.repeat(16_384) })),
    verify('empty', 'request-malformed', new Uint8Array(0)),
    verify('under another device key', 'request-malformed', await request({}, undefined, setKey.key)),
    verify(
      'meant for another key server',
      'request-malformed',
      await request({}, 'wispr/1 key request https://other.example'),
    ),
    verify('time changed', 'request-malformed', canonicalJson({ ...good, time: NOW + 1 })),
    verify('mac too short', 'request-malformed', canonicalJson({ ...good, mac: 'AAAA' })),
    verify('mac a number', 'request-malformed', canonicalJson({ ...good, mac: 7 })),
  ];
}

async function seal(name: string, answer: Uint8Array, to: Uint8Array, key = deviceKey.key): Promise<Uint8Array> {
  const answerNonce = (await secret(`nonce of ${name}`)).subarray(0, 12);
  const context = concat(utf8('wispr/1 key answer\n'), await sha256(to));
  const answerKey = await hkdfExpand(key, lengthPrefixed(utf8('wispr/1 key answer')), 32);
  return concat(answerNonce, await aes256GcmSeal(answerKey, answerNonce, answer, context));
}

async function answers(): Promise<KeyVector[]> {
  const bytes = await request();
  const wrapped = await wrapFixed(deviceKey, { ...setKey, kind: 'set' });
  const value: JsonObject = { keys: [{ ...wrapped }], refused: [{ id: otherSetKey.id, reason: 'lapsed' }], time: NOW };
  const open = (name: string, outcome: string, answer: Uint8Array, attacks?: number[]): KeyVector => ({
    name: `key answer, ${name}`,
    ...(attacks && { attacks }),
    operation: 'open-key-answer',
    input: { answer: toBase64(answer), request: toBase64(bytes), deviceKey: toBase64(deviceKey.key) },
    outcome,
  });
  const refusedWith = async (name: string, changed: JsonObject) =>
    open(name, 'answer-unreadable', await seal(name, canonicalJson(changed), bytes));
  const good = await seal('good', canonicalJson(value), bytes);
  const reasons = ['not-entitled', 'lapsed', 'revoked', 'stale-request', 'replayed-request'].map((reason) => ({
    id: setKey.id,
    reason,
  }));
  const allRefused = await seal('reasons', canonicalJson({ keys: [], refused: reasons, time: NOW }), bytes);
  return [
    {
      ...open('good', 'success', good),
      result: { keys: [setKey.id], refused: [`${otherSetKey.id} lapsed`], time: NOW },
    },
    {
      ...open('every reason', 'success', allRefused),
      result: { keys: [], refused: reasons.map(({ id, reason }) => `${id} ${reason}`), time: NOW },
    },
    open('a bit flipped', 'answer-unreadable', flipBit(good, 20)),
    open('cut', 'answer-unreadable', good.subarray(0, -1)),
    open('continued', 'answer-unreadable', concat(good, new Uint8Array(1))),
    open('empty', 'answer-unreadable', new Uint8Array(0)),
    open('only a nonce', 'answer-unreadable', good.subarray(0, 12)),
    open(
      'to an older request',
      'answer-unreadable',
      await seal('older', canonicalJson(value), await request({ time: NOW - 60 })),
      [74],
    ),
    open('the request reflected', 'answer-unreadable', bytes, [74]),
    open(
      'under another device key',
      'answer-unreadable',
      await seal('other key', canonicalJson(value), bytes, setKey.key),
    ),
    open('not canonical', 'answer-unreadable', await seal('space', concat(canonicalJson(value), utf8(' ')), bytes)),
    await refusedWith('with a member more', { ...value, extra: 1 }),
    await refusedWith('with an unknown reason', { ...value, refused: [{ id: setKey.id, reason: 'because' }] }),
    await refusedWith('with a malformed wrapped key', { ...value, keys: [{ ...wrapped, wrapped: 'AAAA' }] }),
    await refusedWith('with a time as text', { ...value, time: String(NOW) }),
  ];
}
