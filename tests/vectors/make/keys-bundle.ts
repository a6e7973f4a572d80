/** Key bundles: docs/spec/keys.md section 9. */
import { ed25519Sign, sealChunks, sha256, xwingEncapsulateForVectors, xwingKeyPair } from '#primitives';
import { beginMessage } from '../../../core/crypto/chunked-encryption.ts';
import { hkdfExpand } from '../../../core/crypto/hkdf.ts';
import { keyIdBytes } from '../../../core/crypto/key-id.ts';
import { toBase64url } from '../../../core/encoding/base64url.ts';
import { concat, lengthPrefixed, u32, utf8 } from '../../../core/encoding/bytes.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../core/encoding/canonical-json.ts';
import { recipientIdOf } from '../../../core/keys/bundle.ts';
import { type KeyVector, toBase64 } from '../format.ts';
import { firstRoot, NOW, otherPublisher, otherSetKey, publisher, SITE, saltOf, secret, setKey } from './fixed.ts';
import { flipBit } from './forge.ts';
import { descriptor } from './keys-descriptor.ts';
import { periodKey } from './keys-wrapped.ts';

const MAGIC = 'wispr-bundle/1\n';
const seed = await secret('seed of the key server');
const recipient = xwingKeyPair(seed);
const workspace = toBase64url((await secret('workspace')).subarray(0, 16));

const SET = { id: setKey.id, key: toBase64url(setKey.key), name: 'subscribers', site: SITE };
const BUNDLE = {
  descriptor: toBase64url(descriptor),
  root: toBase64url(firstRoot),
  sets: [SET, { ...SET, id: otherSetKey.id, key: toBase64url(otherSetKey.key), name: 'sports' }],
};

interface Made {
  readonly header: JsonObject;
  readonly payload: Uint8Array;
}

/** A bundle in parts, encrypted to the key server with fixed randomness. */
async function make(name: string, message: Uint8Array, to = recipient.publicKey): Promise<Made> {
  const coins = concat(await secret(`${name}, first half`), await secret(`${name}, second half`));
  const { ciphertext, sharedSecret } = xwingEncapsulateForVectors(to, coins);
  return encrypt(name, message, to, ciphertext, sharedSecret);
}

async function encrypt(
  name: string,
  message: Uint8Array,
  to: Uint8Array,
  ciphertext: Uint8Array,
  sharedSecret: Uint8Array,
): Promise<Made> {
  const recipientId = await recipientIdOf(to);
  const context = lengthPrefixed(utf8('wispr/1 key bundle'), keyIdBytes(recipientId), keyIdBytes(publisher.id));
  const { keys, prefix } = await beginMessage(await hkdfExpand(sharedSecret, context, 32), context, await saltOf(name));
  const payload = concat(prefix, await sealChunks(keys, 0, message, true));
  const header = {
    issued: NOW,
    kem: toBase64url(ciphertext),
    payloadDigest: toBase64url(await sha256(payload)),
    publisherKey: toBase64url(publisher.publicKey),
    recipient: recipientId,
    serial: 7,
    workspace,
  };
  return { header, payload };
}

function join({ header, payload }: Made, secretKey = publisher.secretKey): Uint8Array {
  return joinBytes(canonicalJson(header), payload, secretKey);
}

function joinBytes(header: Uint8Array, payload: Uint8Array, secretKey = publisher.secretKey): Uint8Array {
  const signature = ed25519Sign(concat(utf8('wispr/1 key bundle\n'), header), secretKey);
  return concat(utf8(MAGIC), u32(header.length), header, signature, payload);
}

function open(name: string, outcome: string, bundle: Uint8Array, attacks?: number[]): KeyVector {
  return {
    name: `bundle, ${name}`,
    ...(attacks && { attacks }),
    operation: 'open-bundle',
    input: { bundle: toBase64(bundle), seed: toBase64(seed) },
    outcome,
  };
}

export async function bundleVectors(): Promise<KeyVector[]> {
  const made = await make('bundle', canonicalJson(BUNDLE));
  const result = { ...BUNDLE, issued: NOW, publisher: publisher.id, serial: 7, workspace };
  const empty = { ...BUNDLE, sets: [] };
  const withTimestampKey = { ...BUNDLE, timestampKey: toBase64url(await secret('timestamp key')) };
  return [
    { ...open('good', 'success', join(made)), result },
    {
      ...open('without sets', 'success', join(await make('empty', canonicalJson(empty)))),
      result: { ...result, sets: [] },
    },
    {
      ...open('with a timestamp key', 'success', join(await make('timestamp', canonicalJson(withTimestampKey)))),
      result: { ...result, timestampKey: withTimestampKey.timestampKey },
    },
    ...(await withPeriods(result)),
    ...(await malformed(made)),
    ...(await refused(made)),
    ...(await unreadable()),
  ];
}

async function withPeriods(result: JsonObject): Promise<KeyVector[]> {
  const named = { id: periodKey.id, key: toBase64url(periodKey.key), plan: 'daily', sets: ['day-*'], site: SITE };
  const undated: JsonObject = { ...named, from: NOW, until: NOW + 86_399 };
  const period = { ...undated, zone: 'Europe/Berlin' };
  const sealed = async (name: string, ...periods: JsonObject[]) =>
    join(await make(name, canonicalJson({ ...BUNDLE, periods })));
  const wrong = async (name: string, changes: JsonObject, attacks?: number[]) =>
    open(name, 'bundle-malformed', await sealed(name, { ...period, ...changes }), attacks);
  return [
    {
      ...open('with period keys', 'success', await sealed('periods', period, undated)),
      result: { ...result, periods: [period, undated] },
    },
    await wrong('a period key that is not the one it is named', { key: SET.key }, [43]),
    await wrong('a period that ends before it begins', { until: NOW - 1 }),
    await wrong('a period with a member more', { extra: 1 }),
    await wrong('a period with sets that are no list', { sets: 'day-*' }),
    open('with 65 periods', 'bundle-malformed', await sealed('many', ...new Array<JsonObject>(65).fill(period))),
  ];
}

async function malformed(made: Made): Promise<KeyVector[]> {
  const good = join(made);
  const { header, payload } = made;
  const headerLength = canonicalJson(header).length;
  const changed = (name: string, changes: Record<string, Json | undefined>) => {
    const members = Object.entries({ ...header, ...changes }).filter(([, value]) => value !== undefined);
    return open(name, 'bundle-malformed', join({ header: Object.fromEntries(members) as JsonObject, payload }));
  };
  const withLength = (length: number) => concat(utf8(MAGIC), u32(length), good.subarray(MAGIC.length + 4));
  return [
    open('empty', 'bundle-malformed', new Uint8Array(0)),
    open('only its magic', 'bundle-malformed', utf8(MAGIC)),
    open('of version 2', 'bundle-malformed', concat(utf8('wispr-bundle/2\n'), good.subarray(MAGIC.length))),
    open(
      'line ends turned into CR LF',
      'bundle-malformed',
      concat(utf8('wispr-bundle/1\r\n'), good.subarray(MAGIC.length)),
    ),
    open('header length of 8,193', 'bundle-malformed', withLength(8193)),
    open('header length of 2^32 - 1', 'bundle-malformed', withLength(2 ** 32 - 1)),
    open('header length of 0', 'bundle-malformed', withLength(0)),
    open('cut inside the header', 'bundle-malformed', good.subarray(0, 500)),
    open('cut inside the signature', 'bundle-malformed', good.subarray(0, MAGIC.length + 4 + headerLength + 63)),
    open('cut inside the payload', 'bundle-malformed', good.subarray(0, -1)),
    open('continued', 'bundle-malformed', concat(good, utf8('\n'))),
    open('payload altered', 'bundle-malformed', flipBit(good, good.length - 1)),
    open('header not canonical', 'bundle-malformed', joinBytes(concat(canonicalJson(header), utf8(' ')), payload)),
    changed('with a member more', { extra: 1 }),
    changed('without a serial', { serial: undefined }),
    changed('serial as text', { serial: '7' }),
    changed('issued as text', { issued: '0' }),
    changed('workspace too long', { workspace: `${workspace}AA` }),
    changed('recipient that is no key id', { recipient: 'AAAA' }),
    changed('kem too short', { kem: 'AAAA' }),
    changed('payload digest with padding', { payloadDigest: `${String(header.payloadDigest)}=` }),
    changed('publisher key too short', { publisherKey: 'AAAA' }),
  ];
}

async function refused(made: Made): Promise<KeyVector[]> {
  const good = join(made);
  const stranger = xwingKeyPair(await secret('seed of another key server'));
  const forOther = await make('other', canonicalJson(BUNDLE), stranger.publicKey);
  const renamed = { ...made.header, publisherKey: toBase64url(otherPublisher.publicKey) };
  return [
    open('signed by another key', 'bundle-malformed', join(made, otherPublisher.secretKey)),
    open('signature altered', 'bundle-malformed', flipBit(good, MAGIC.length + 4 + canonicalJson(made.header).length)),
    open(
      'signature altered and payload cut',
      'bundle-malformed',
      flipBit(good, MAGIC.length + 4 + canonicalJson(made.header).length).subarray(0, -1),
    ),
    open('for another key server', 'bundle-recipient', join(forOther)),
    open(
      'for another key server, renamed',
      'bundle-malformed',
      join({ ...forOther, header: { ...forOther.header, recipient: await recipientIdOf(recipient.publicKey) } }),
    ),
    open(
      'taken over by another publisher',
      'bundle-malformed',
      join({ ...made, header: renamed }, otherPublisher.secretKey),
    ),
  ];
}

async function unreadable(): Promise<KeyVector[]> {
  const sealed = async (name: string, value: Json, attacks?: number[]) =>
    open(name, 'bundle-malformed', join(await make(name, canonicalJson(value))), attacks);
  const lowOrderCiphertext = new Uint8Array(1120);
  const lowOrder = await encrypt(
    'low order',
    canonicalJson(BUNDLE),
    recipient.publicKey,
    lowOrderCiphertext,
    new Uint8Array(32),
  );
  const short = await make('short', canonicalJson(BUNDLE));
  const cut = short.payload.subarray(0, 60);
  const cutHeader = { ...short.header, payloadDigest: toBase64url(await sha256(cut)) };
  return [
    open('encapsulated to a point of small order', 'bundle-malformed', join(lowOrder), [41]),
    open('payload of 60 bytes', 'bundle-malformed', join({ header: cutHeader, payload: cut })),
    open(
      'payload not canonical',
      'bundle-malformed',
      join(await make('space', concat(canonicalJson(BUNDLE), utf8(' ')))),
    ),
    await sealed('payload a list', [BUNDLE]),
    await sealed('payload with a member more', { ...BUNDLE, extra: 1 }),
    await sealed('payload without a root', { descriptor: BUNDLE.descriptor, sets: BUNDLE.sets }),
    await sealed('root not base64url', { ...BUNDLE, root: '=' }),
    await sealed('timestamp key of 31 bytes', { ...BUNDLE, timestampKey: SET.key.slice(0, -1) }),
    await sealed('sets not a list', { ...BUNDLE, sets: {} }),
    await sealed('descriptor not base64url', { ...BUNDLE, descriptor: '=' }),
    await sealed('a set with a member more', { ...BUNDLE, sets: [{ ...SET, extra: 1 }] }),
    await sealed('a key of 31 bytes', { ...BUNDLE, sets: [{ ...SET, key: SET.key.slice(0, -1) }] }),
    await sealed('a site that is none', { ...BUNDLE, sets: [{ ...SET, site: 'News.example' }] }),
    await sealed(
      'a key that is not the one it is named',
      { ...BUNDLE, sets: [{ ...SET, key: toBase64url(otherSetKey.key) }] },
      [43],
    ),
  ];
}
