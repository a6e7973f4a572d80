/** httpcrypt.json: docs/spec/httpcrypt.md. Messages are put together here by hand, from the primitives alone. */
import { x25519KeyPair, xchachaSeal } from '#channel';
import { ed25519KeyPair, ed25519Sign, sha256 } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { concat, lengthPrefixed, u32, u64, utf8 } from '../../core/encoding/bytes.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { recordText } from '../../core/httpcrypt/record.ts';
import { type KeyVector, type KeyVectorFile, toBase64 } from './format.ts';

const NOW = 1_795_132_800;
const URL = 'http://keys.news.example/a/';
const HOUR = 3600;
const channelKey = ed25519KeyPair(await secret('channel key'));
const otherKey = ed25519KeyPair(await secret('another channel key'));
const serverSeed = await secret('server key');
const server = x25519KeyPair(serverSeed);
const keyId = (await sha256(concat(utf8('wispr/1 httpcrypt key id\n'), server.publicKey))).subarray(0, 10);
const readerSeed = await secret('key of a reader');
const ticket = { shown: await secret('ticket'), secret: await secret('secret of the ticket') };
const reader = x25519KeyPair(readerSeed).publicKey;
const content = utf8('{"device":"…"}');
const first = firstSecret();

function firstSecret(): Uint8Array {
  const agreed = x25519KeyPair(readerSeed).agree(server.publicKey);
  if (!agreed) throw new Error('the fixed keys do not agree');
  return agreed;
}

export async function makeHttpcryptVectors(): Promise<KeyVectorFile> {
  return { vectors: [...records(), ...addresses(), ...agreements(), ...(await requests()), ...(await answers())] };
}

function recordOf(notAfter = NOW + 2 * HOUR, url = URL, signer = channelKey, label = 'wispr/1 httpcrypt server key') {
  const announced = concat(server.publicKey, u64(notAfter));
  return concat(announced, ed25519Sign(concat(lengthPrefixed(utf8(label), utf8(url)), announced), signer.secretKey));
}

function records(): KeyVector[] {
  const verify = (name: string, outcome: string, record: Uint8Array, more: object = {}): KeyVector => ({
    name: `record, ${name}`,
    operation: 'verify-record',
    input: { record: toBase64(record), url: URL, key: toBase64(channelKey.publicKey), now: NOW },
    outcome,
    ...more,
  });
  const result = { publicKey: toBase64(server.publicKey), id: toBase64(keyId), notAfter: NOW + 2 * HOUR };
  const refused = 'channel-key-refused';
  return [
    verify('good', 'success', recordOf(), { result }),
    verify('at its end', 'success', recordOf(NOW), { result: { ...result, notAfter: NOW } }),
    verify('after its end', refused, recordOf(NOW - 1), { attacks: [113] }),
    verify('its end moved', refused, flipBit(recordOf(), 39), { attacks: [113] }),
    verify('another key put in', refused, flipBit(recordOf(), 0), { attacks: [111] }),
    verify('of another door', refused, recordOf(undefined, 'http://other.example/a/'), { attacks: [111] }),
    verify('of another key server', refused, recordOf(undefined, undefined, otherKey), { attacks: [111] }),
    verify('signed for something else', refused, recordOf(undefined, undefined, undefined, 'wispr/1 key bundle')),
    verify('cut', refused, recordOf().subarray(0, -1)),
    verify('continued', refused, concat(recordOf(), new Uint8Array(1))),
    verify('empty', refused, new Uint8Array(0)),
  ];
}

function addresses(): KeyVector[] {
  const padded = concat(recordOf(), new Uint8Array(8));
  const address = (index: number) => `2a0${index}${toHex(padded.subarray(14 * index, 14 * index + 14))}`;
  const written = (digits: string) => digits.replace(/(.{4})(?!$)/g, '$1:');
  const good = Array.from({ length: 8 }, (_, index) => written(address(index)));
  const read = (name: string, outcome: string, list: readonly string[]): KeyVector => ({
    name: `addresses, ${name}`,
    operation: 'read-addresses',
    input: { addresses: list.join(' ') },
    outcome,
    ...(outcome === 'success' && { result: { record: toBase64(recordOf()) } }),
  });
  const refused = 'channel-key-refused';
  const shortened = good.map((each) => each.replace(/:0{1,3}/g, ':').replace(/(?::0)+$/, '::'));
  return [
    read('good', 'success', good),
    read('in another order', 'success', good.toReversed()),
    read('as resolvers write them', 'success', shortened),
    read('one missing', refused, good.slice(1)),
    read('one more', refused, [...good, '2a00::1']),
    read('one twice', refused, [...good.slice(1), good[1] ?? '']),
    read('a host among them', refused, [...good.slice(1), '2001:db8::1']),
    read('not zeros behind it', refused, [...good.slice(0, 7), written(`${address(7).slice(0, -1)}1`)]),
    read('none', refused, []),
  ];
}

function agreements(): KeyVector[] {
  const agree = (name: string, outcome: string, publicKey: Uint8Array, result?: Uint8Array): KeyVector => ({
    name: `exchange, ${name}`,
    operation: 'agree',
    input: { seed: toBase64(serverSeed), publicKey: toBase64(publicKey) },
    outcome,
    ...(result && { result: { secret: toBase64(result) } }),
  });
  const refused = 'channel-key-refused';
  return [
    agree('good', 'success', reader, first),
    agree('bit 255 set', 'success', flipBit(reader, 31, 7), first),
    agree('small order, 0', refused, new Uint8Array(32), undefined),
    agree('small order, 1', refused, concat(Uint8Array.of(1), new Uint8Array(31)), undefined),
    agree('small order, p', refused, concat(Uint8Array.of(0xed), new Uint8Array(30).fill(255), Uint8Array.of(0x7f))),
  ];
}

/** Zeros up to `length`, which is said by hand. */
function padded(message: Uint8Array, length = 1024): Uint8Array {
  return concat(message, new Uint8Array(length - message.length));
}

async function seal(name: string, key: Uint8Array, message: Uint8Array, context: Uint8Array): Promise<Uint8Array> {
  const nonce = (await secret(`nonce of ${name}`)).subarray(0, 24);
  return xchachaSeal(key, nonce, message, context);
}

const requestContext = (shown: Uint8Array, key = server.publicKey) =>
  concat(utf8('wispr/1 httpcrypt request\n'), key, shown);
const good = lengthPrefixed(utf8('POST /v1/keys'), content);

async function requests(): Promise<KeyVector[]> {
  const cookieOf = (shown: Uint8Array, padding = 7) =>
    `session=${toBase64url(concat(keyId, shown, new Uint8Array(padding).fill(170)))}`;
  const open = (name: string, outcome: string, body: Uint8Array, more: object = {}, cookie = cookieOf(reader)) => ({
    name: `request, ${name}`,
    operation: 'open-request',
    input: { seed: toBase64(serverSeed), cookie, body: toBase64(body) },
    outcome,
    ...(outcome === 'success' && { result: { target: 'POST /v1/keys', content: toBase64(content) } }),
    ...more,
  });
  const byTicket = (name: string, outcome: string, body: Uint8Array, more: object = {}): KeyVector => ({
    ...open(name, outcome, body, more, cookieOf(ticket.shown)),
    input: {
      seed: toBase64(serverSeed),
      cookie: cookieOf(ticket.shown),
      ticket: toBase64(ticket.shown),
      secret: toBase64(ticket.secret),
      body: toBase64(body),
    },
  });
  const sealed = (name: string, message = padded(good), context = requestContext(reader), key = first) =>
    seal(name, key, message, context);
  const bytes = await sealed('good');
  const long = lengthPrefixed(utf8('POST /v1/keys'), new Uint8Array(2200).fill(65));
  const ticketed = await sealed('ticket', undefined, requestContext(ticket.shown), ticket.secret);
  const unreadable = 'channel-unreadable';
  const ofForm = async (name: string, message: Uint8Array) => open(name, unreadable, await sealed(name, message));
  const cookie = (name: string, text: string) => open(`cookie ${name}`, unreadable, bytes, {}, text);
  return [
    open('good', 'success', bytes),
    open('cookie without padding', 'success', bytes, {}, cookieOf(reader, 0)),
    open('cookie with most padding', 'success', bytes, {}, cookieOf(reader, 31)),
    open('cookie of another name', 'success', bytes, {}, cookieOf(reader).replace('session', 'PHPSESSID')),
    open('2,221 bytes, padded to 3,072', 'success', await sealed('long', padded(long, 3072)), {
      result: { target: 'POST /v1/keys', content: toBase64(new Uint8Array(2200).fill(65)) },
    }),
    byTicket('with a ticket', 'success', ticketed),
    byTicket('with a ticket, sealed by the first secret', unreadable, bytes, { attacks: [114] }),
    open('sealed by the secret of a ticket', unreadable, ticketed, { attacks: [114] }),
    open('a ticket that is not known', unreadable, ticketed, { attacks: [114] }, cookieOf(ticket.shown)),
    open('shown key swapped', unreadable, await sealed('swap', undefined, requestContext(ticket.shown)), {
      attacks: [111],
    }),
    open('meant for another server key', unreadable, await sealed('meant', undefined, requestContext(reader, reader)), {
      attacks: [111],
    }),
    open('a bit flipped', unreadable, flipBit(bytes, 300)),
    open('cut', unreadable, bytes.subarray(0, -1), { attacks: [112] }),
    open('cut to nothing', unreadable, new Uint8Array(0), { attacks: [112] }),
    open('cut to a nonce', unreadable, bytes.subarray(0, 24), { attacks: [112] }),
    open('continued', unreadable, concat(bytes, new Uint8Array(16)), { attacks: [112] }),
    open('twice', unreadable, concat(bytes, bytes), { attacks: [112] }),
    open(
      'too long',
      unreadable,
      await sealed('too long', padded(lengthPrefixed(good, new Uint8Array(32_700)), 33_792)),
    ),
    await ofForm('too short', padded(good, 512)),
    await ofForm('padded too much', padded(good, 2048)),
    await ofForm('padded to less than a KiB more', padded(long, 2304)),
    await ofForm('padding that is not zeros', concat(padded(good, 1023), Uint8Array.of(1))),
    await ofForm('a length beyond the end', padded(concat(u32(1021), content))),
    await ofForm('a target that is not UTF-8', padded(lengthPrefixed(Uint8Array.of(0xff), content))),
    cookie('too short', `session=${toBase64url(new Uint8Array(41))}`),
    cookie('too long', cookieOf(reader, 32)),
    cookie('with two pairs', `${cookieOf(reader)}; a=b`),
    cookie('without a name', cookieOf(reader).slice(8)),
    cookie('not base64url', `${cookieOf(reader)}=`),
    cookie('of another server key', `session=${toBase64url(concat(new Uint8Array(10), reader))}`),
  ];
}

async function answers(): Promise<KeyVector[]> {
  const request = await seal('good', first, padded(good), requestContext(reader));
  const context = async (bytes: Uint8Array) => concat(utf8('wispr/1 httpcrypt answer\n'), await sha256(bytes));
  const message = (body: Uint8Array) => concat(ticket.shown, ticket.secret, u32(200), lengthPrefixed(body));
  const sealed = async (name: string, plain: Uint8Array, to = request, key = first) =>
    seal(`answer, ${name}`, key, plain, await context(to));
  const open = (name: string, outcome: string, body: Uint8Array, attacks?: number[], says = content): KeyVector => ({
    name: `answer, ${name}`,
    ...(attacks && { attacks }),
    operation: 'open-answer',
    input: { secret: toBase64(first), request: toBase64(request), body: toBase64(body) },
    outcome,
    ...(outcome === 'success' && {
      result: { status: 200, content: toBase64(says), ticket: toBase64(ticket.shown), secret: toBase64(ticket.secret) },
    }),
  });
  const bytes = await sealed('good', padded(message(content)));
  const long = new Uint8Array(41_800).fill(65);
  const other = flipBit(request, 0);
  const unreadable = 'channel-unreadable';
  return [
    open('good', 'success', bytes),
    open(
      '41,872 bytes, padded to 43,008',
      'success',
      await sealed('long', padded(message(long), 43_008)),
      undefined,
      long,
    ),
    open('the request reflected', unreadable, request, [110]),
    open('to another request', unreadable, await sealed('other', padded(message(content)), other), [110]),
    open('by another secret', unreadable, await sealed('key', padded(message(content)), request, ticket.secret), [111]),
    open('in clear', unreadable, padded(message(content), 1064), [115]),
    open('a bit flipped', unreadable, flipBit(bytes, 999)),
    open('cut', unreadable, bytes.subarray(0, -16), [112]),
    open('continued', unreadable, concat(bytes, new Uint8Array(1)), [112]),
    open('empty', unreadable, new Uint8Array(0), [112]),
    open('padded too much', unreadable, await sealed('much', padded(message(content), 2048))),
    open('shorter than its ticket', unreadable, await sealed('short', new Uint8Array(60))),
  ];
}

/** For the specification: what an announcement and a request look like, out of the vectors. */
export function httpcryptSample({ vectors }: KeyVectorFile): string {
  const input = (name: string, member: string) => String(vectors.find((each) => each.name === name)?.input[member]);
  const body = Buffer.from(input('request, good', 'body'), 'base64');
  return [
    'A record, one of the addresses that carry it, and a request; the body is cut here:',
    '',
    '```',
    ...(recordText(recordOf()).match(/.{1,90}/g) ?? []),
    input('addresses, good', 'addresses').split(' ')[0],
    '',
    'POST /a/3kTq0cMxPl HTTP/1.1',
    'Host: keys.news.example',
    'Content-Type: application/octet-stream',
    `Content-Length: ${body.length}`,
    `Cookie: ${input('request, good', 'cookie')}`,
    '',
    `${toHex(body.subarray(0, 40))}…`,
    '```',
  ].join('\n');
}

/** 32 bytes that stand for a random value. All secrets here are public: SHA-256 of their names. */
function secret(name: string): Promise<Uint8Array> {
  return sha256(utf8(`wispr test vectors: ${name}`));
}

/** A copy with one bit flipped. */
function flipBit(bytes: Uint8Array, offset: number, bit = 0): Uint8Array {
  const copy = new Uint8Array(bytes);
  copy[offset] = (copy[offset] ?? 0) ^ (1 << bit);
  return copy;
}
