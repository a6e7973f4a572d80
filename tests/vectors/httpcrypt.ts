/** httpcrypt.json: docs/spec/httpcrypt.md. Messages are put together here by hand, from the primitives alone. */
import { chachaSeal, hchacha20, x25519KeyPair } from '#channel';
import { ed25519KeyPair, ed25519Sign, sha256 } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { concat, lengthPrefixed, u64, utf8 } from '../../core/encoding/bytes.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { recordText } from '../../core/httpcrypt/record.ts';
import { type KeyVector, type KeyVectorFile, toBase64 } from './format.ts';
import { describeBytes } from './run/objects.ts';

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
const [described, nothing] = [await describeBytes(content), await describeBytes(new Uint8Array(0))];
const first = firstSecret();

function firstSecret(): Uint8Array {
  const agreed = x25519KeyPair(readerSeed).agree(server.publicKey);
  if (!agreed) throw new Error('the fixed keys do not agree');
  return agreed;
}

export async function makeHttpcryptVectors(): Promise<KeyVectorFile> {
  return {
    vectors: [...records(), ...texts(), ...addresses(), ...agreements(), ...(await requests()), ...(await answers())],
  };
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

/** Texts of TXT, and of the answer to OPTIONS. */
function texts(): KeyVector[] {
  const text = recordText(recordOf());
  const refused = 'channel-key-refused';
  const read = (operation: string, name: string, outcome: string, input: KeyVector['input']): KeyVector => ({
    name: `${operation}, ${name}`,
    operation,
    input,
    outcome,
    ...(outcome === 'success' && { result: { record: toBase64(recordOf()) } }),
  });
  const options = (name: string, outcome: string, body: string) => read('read-options', name, outcome, { text: body });
  const txt = (name: string, outcome: string, string: string) => read('read-text', name, outcome, { text: string });
  return [
    txt('good', 'success', text),
    txt('padded', refused, `${text}=`),
    txt('cut', refused, text.slice(0, -1)),
    txt('behind a label', refused, `v=1 ${text}`),
    options('without more', 'success', `${text}\n`),
    options('with most of what means nothing', 'success', `${text}\n${'x'.repeat(255)}`),
    options('without a line feed', refused, text),
    options('something before it', refused, `x\n${text}`),
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
  const threes = concat(recordOf(), new Uint8Array(1));
  const four = Array.from({ length: 35 }, (_, n) => [64 + n, ...threes.subarray(3 * n, 3 * n + 3)].join('.'));
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
    read('of IPv4', 'success', four),
    read('of IPv4 in another order', 'success', four.toReversed()),
    read('of IPv4, one missing', refused, four.slice(1)),
    read('of IPv4, one twice', refused, [...four.slice(1), four[1] ?? '']),
    read('of IPv4, a host among them', refused, [...four.slice(1), '192.0.2.1']),
    read('of IPv4, not zeros behind it', refused, [...four.slice(0, 34), four[34]?.replace(/\d+$/, '1') ?? '']),
    read('of both kinds', refused, [...good.slice(1), four[0] ?? '']),
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

const u16 = (value: number) => Uint8Array.of(value >> 8, value & 0xff);
/** Binary HTTP by hand: a length of RFC 9000 section 16, here under 16,384, and text or bytes behind theirs. */
const length = (value: number) => (value < 64 ? Uint8Array.of(value) : u16(0x4000 + value));
const withLength = (value: Uint8Array) => concat(length(value.length), value);
const text = (value: string) => withLength(utf8(value));

const control = (method = 'POST', scheme = 'http', authority = 'keys.news.example', path = '/v1/keys') =>
  concat(text(method), text(scheme), text(authority), text(path));
const fields = concat(text('content-type'), text('application/json'));
const goodRequest = concat(Uint8Array.of(0), control(), withLength(fields), withLength(content));
const goodAnswer = concat(Uint8Array.of(1), length(200), withLength(fields), withLength(content));

/** A chunk's plaintext, the zeros up to `size` said by hand. */
function plain(data: Uint8Array, size = 1024): Uint8Array {
  return concat(u16(data.length), data, new Uint8Array(size - 2 - data.length));
}

/** A body of some plaintexts, the last of which is the last chunk. */
async function seal(
  name: string,
  key: Uint8Array,
  plaintexts: readonly Uint8Array[],
  context: Uint8Array,
  last = plaintexts.length - 1,
): Promise<Uint8Array> {
  const salt = await saltOf(name);
  const chunks = plaintexts.map((plaintext, number) => {
    const nonce = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number, number === last ? 1 : 0);
    return chachaSeal(hchacha20(key, salt), nonce, plaintext, context);
  });
  return concat(salt, ...chunks);
}

const saltOf = async (name: string) => (await secret(`salt of ${name}`)).subarray(0, 16);
const requestContext = (shown: Uint8Array, key = server.publicKey) =>
  concat(utf8('wispr/2 httpcrypt request\n'), key, shown);

/** Two whole chunks' worth of a message, and how it is cut. */
const FULL = 16_366;
const pieces = (message: Uint8Array) => [plain(message.subarray(0, FULL), 16_368), plain(message.subarray(FULL))];

async function requests(): Promise<KeyVector[]> {
  const cookieOf = (shown: Uint8Array, padding = 7) =>
    `session=${toBase64url(concat(keyId, shown, new Uint8Array(padding).fill(170)))}`;
  const result = (more: object = {}) => ({
    ...{ method: 'POST', scheme: 'http', authority: 'keys.news.example', path: '/v1/keys' },
    ...{ fields: ['content-type', 'application/json'], content: described, ...more },
  });
  const open = (name: string, outcome: string, body: Uint8Array, more: object = {}, cookie = cookieOf(reader)) => ({
    name: `request, ${name}`,
    operation: 'open-request',
    input: { seed: toBase64(serverSeed), cookie, body: toBase64(body) },
    outcome,
    ...(outcome === 'success' && { result: result() }),
    ...more,
  });
  const byTicket = (name: string, outcome: string, body: Uint8Array, more: object = {}): KeyVector => {
    const vector = open(name, outcome, body, more, cookieOf(ticket.shown));
    const known = { ticket: toBase64(ticket.shown), secret: toBase64(ticket.secret) };
    return { ...vector, input: { ...vector.input, ...known } };
  };
  const sealed = (name: string, plaintext = plain(goodRequest), context = requestContext(reader), key = first) =>
    seal(name, key, [plaintext], context);
  const bytes = await sealed('good');
  const ticketed = await sealed('ticket', undefined, requestContext(ticket.shown), ticket.secret);
  const refused = (name: string, body: Uint8Array, attacks?: number[], cookie?: string) =>
    open(name, 'channel-unreadable', body, attacks && { attacks }, cookie);
  const ofForm = async (name: string, message: Uint8Array) => refused(name, await sealed(name, plain(message)));
  const read = async (name: string, message: Uint8Array, more: object = {}) =>
    open(name, 'success', await sealed(name, plain(message)), { result: result(more) });
  const raw = async (name: string, plaintext: Uint8Array) => refused(name, await sealed(name, plaintext), [112]);
  const cookie = (name: string, value: string) => refused(`cookie ${name}`, bytes, undefined, value);
  const known = (...parts: Uint8Array[]) => concat(Uint8Array.of(0), ...parts);
  const inPieces = (...parts: Uint8Array[]) => concat(Uint8Array.of(2), ...parts);
  const cut = [withLength(content.subarray(0, 5)), withLength(content.subarray(5)), Uint8Array.of(0)];
  const pieced = inPieces(control(), fields, Uint8Array.of(0), ...cut);
  const trailers = concat(text('x'), text('y'));
  const beyondAscii = concat(
    ...[text('GET'), text('http'), text('keys.news.example'), withLength(Uint8Array.of(0x2f, 0xe9))],
    withLength(concat(text('x'), text('é'))),
  );
  return [
    open('good', 'success', bytes),
    open('cookie without padding', 'success', bytes, {}, cookieOf(reader, 0)),
    open('cookie with most padding', 'success', bytes, {}, cookieOf(reader, 31)),
    open('cookie of another name', 'success', bytes, {}, cookieOf(reader).replace('session', 'connect.sid')),
    byTicket('with a ticket', 'success', ticketed),
    byTicket('with a ticket, sealed by the first secret', 'channel-unreadable', bytes, { attacks: [114] }),
    refused('sealed by the secret of a ticket', ticketed, [114]),
    refused('a ticket that is not known', ticketed, [114], cookieOf(ticket.shown)),
    refused('shown key swapped', await sealed('swap', undefined, requestContext(ticket.shown)), [111]),
    refused('meant for another server key', await sealed('meant', undefined, requestContext(reader, reader)), [111]),
    refused('a bit flipped', flipBit(bytes, 300)),
    refused('another salt', flipBit(bytes, 0)),
    refused('cut', bytes.subarray(0, -1), [112]),
    refused('cut to nothing', new Uint8Array(0), [112]),
    refused('cut to a salt', bytes.subarray(0, 16), [112]),
    refused('continued', concat(bytes, new Uint8Array(16)), [112]),
    refused('twice', concat(bytes, bytes), [112]),
    refused(
      'a chunk that is not the last',
      await seal('not last', first, [plain(goodRequest)], requestContext(reader), 1),
      [112],
    ),
    await read('in pieces', pieced),
    await read('in pieces, with trailers', concat(pieced, trailers, Uint8Array.of(0))),
    await read('with trailers', concat(goodRequest, withLength(trailers))),
    await read('padded inside', concat(goodRequest, new Uint8Array(50))),
    await read('without content', known(control(), withLength(fields)), { content: nothing }),
    await read('without fields', inPieces(control(), Uint8Array.of(0)), { content: nothing, fields: [] }),
    await ofForm('that ends before its fields', known(control())),
    await ofForm('in pieces that ends before its fields', inPieces(control())),
    await read('bytes that are not ASCII', known(beyondAscii), {
      ...{ method: 'GET', path: '/\u00e9', fields: ['x', '\u00c3\u00a9'], content: nothing },
    }),
    open('an answer sent as a request', 'channel-unreadable', await answerTo(reader), { attacks: [110] }),
    await read('names in capitals', known(control(), withLength(concat(text('A-b'), text('C'))), withLength(content)), {
      fields: ['a-b', 'C'],
    }),
    await read(
      'lengths in more bytes than they take',
      concat(
        ...[Uint8Array.of(0x40, 0), control(), Uint8Array.of(0x80, 0, 0, 0), Uint8Array.of(0xc0, 0, 0, 0, 0, 0, 0)],
        ...[Uint8Array.of(content.length), content],
      ),
      { fields: [] },
    ),
    open('without padding', 'success', await sealed('without padding', plain(goodRequest, 2 + goodRequest.length))),
    await raw('a length beyond the end', concat(Uint8Array.of(4, 0), goodRequest)),
    await raw('padding that is not zeros', concat(plain(goodRequest, 1023), Uint8Array.of(1))),
    await raw('a chunk of one byte', Uint8Array.of(0)),
    await ofForm('an empty message', new Uint8Array(0)),
    await ofForm('an answer inside', goodAnswer),
    await ofForm('of a kind that there is not', concat(Uint8Array.of(4), goodRequest.subarray(1))),
    await ofForm('a message that is cut', goodRequest.subarray(0, -1)),
    await ofForm('a message in pieces that is cut', pieced.subarray(0, -1)),
    await ofForm('a message that is continued', concat(goodRequest, Uint8Array.of(0, 1))),
    await ofForm('a method that HTTP does not have', known(control('PO ST'))),
    await ofForm('a path with a space', known(control('GET', 'http', 'a', '/a b'))),
    await ofForm('a path that does not begin with a slash', known(control('GET', 'http', 'a', 'b'))),
    await ofForm('a line end in a field', known(control(), withLength(concat(text('a'), text('b\r\nc: d'))))),
    await ofForm('a colon in a name', known(control(), withLength(concat(text(':path'), text('/'))))),
    await ofForm('a field longer than its section', known(control(), Uint8Array.of(3), text('a'), text('bcd'))),
    cookie('too short', `session=${toBase64url(new Uint8Array(41))}`),
    cookie('too long', cookieOf(reader, 32)),
    cookie('with two pairs', `${cookieOf(reader)}; a=b`),
    cookie('without a name', cookieOf(reader).slice(8)),
    cookie('not base64url', `${cookieOf(reader)}=`),
    cookie('of another server key', `session=${toBase64url(concat(new Uint8Array(10), reader))}`),
  ];
}

/** An answer to the good request. */
async function answerTo(shown: Uint8Array): Promise<Uint8Array> {
  const context = concat(utf8('wispr/2 httpcrypt answer\n'), server.publicKey, shown, await saltOf('good'));
  return seal('answer, good', first, [plain(concat(ticket.shown, ticket.secret, goodAnswer))], context);
}

async function answers(): Promise<KeyVector[]> {
  const salt = await saltOf('good');
  const context = (of = salt, shown = reader) =>
    concat(utf8('wispr/2 httpcrypt answer\n'), server.publicKey, shown, of);
  const message = (body: Uint8Array) => concat(ticket.shown, ticket.secret, body);
  const sealed = (
    name: string,
    plaintexts = [plain(message(goodAnswer))],
    to = context(),
    key = first,
    last?: number,
  ) => seal(`answer, ${name}`, key, plaintexts, to, last);
  const open = (name: string, outcome: string, body: Uint8Array, attacks?: number[], more: object = {}): KeyVector => ({
    name: `answer, ${name}`,
    ...(attacks && { attacks }),
    operation: 'open-answer',
    input: {
      ...{ publicKey: toBase64(server.publicKey), shown: toBase64(reader), secret: toBase64(first) },
      ...{ salt: toBase64(salt), body: toBase64(body) },
    },
    outcome,
    ...(outcome === 'success' && {
      result: {
        ...{ status: 200, fields: ['content-type', 'application/json'], content: described },
        ...{ ticket: toBase64(ticket.shown), secret: toBase64(ticket.secret), ...more },
      },
    }),
  });
  const refused = (name: string, body: Uint8Array, attacks?: number[]) =>
    open(name, 'channel-unreadable', body, attacks);
  const read = async (name: string, body: Uint8Array, more: object = {}) =>
    open(name, 'success', await sealed(name, [plain(message(body))]), undefined, more);
  const ofForm = async (name: string, body: Uint8Array) => refused(name, await sealed(name, [plain(message(body))]));
  const status = (value: number) => concat(Uint8Array.of(1), length(value));
  const bytes = await sealed('good');
  const good = message(goodAnswer);
  const long = new Uint8Array(17_000).fill(65);
  const two = pieces(message(concat(Uint8Array.of(1), length(200), Uint8Array.of(0, 0x80, 0, 0x42, 0x68), long)));
  const long2 = await sealed('long', two);
  const full = new Uint8Array(FULL - 64 - 8).fill(67);
  const exact = message(concat(status(200), Uint8Array.of(0), length(full.length), full));
  const other = context(salt, ticket.shown);
  const short = [plain(good.subarray(0, 70)), plain(good.subarray(70))];
  const flushed = await sealed('flushed', [
    plain(good.subarray(0, 50), 16_368),
    plain(new Uint8Array(0), 16_368),
    plain(good.subarray(50)),
  ]);
  const chunk = 16 + 16_384;
  const swapped = concat(
    ...[flushed.subarray(0, 16), flushed.subarray(chunk, chunk + 16_384)],
    ...[flushed.subarray(16, chunk), flushed.subarray(chunk + 16_384)],
  );
  const request = await seal('good', first, [plain(goodRequest)], requestContext(reader));
  const interim = concat(length(103), withLength(fields), length(102), Uint8Array.of(0));
  return [
    open('good', 'success', bytes),
    open('two chunks', 'success', long2, undefined, { content: await describeBytes(long), fields: [] }),
    open('three chunks, as they were flushed', 'success', flushed),
    open('a chunk that is full', 'success', await sealed('full', [plain(exact, 16_368)]), undefined, {
      ...{ content: await describeBytes(full), fields: [] },
    }),
    refused('two chunks swapped', swapped, [112]),
    refused('a short chunk before the last', await sealed('short chunk', short), [112]),
    refused('without its last chunk', long2.subarray(0, chunk), [112]),
    refused('without its first chunk', concat(long2.subarray(0, 16), long2.subarray(chunk)), [112]),
    refused('its first chunk marked as the last', await sealed('marked', two, context(), first, 0), [112]),
    refused('the request reflected', request, [110]),
    refused('to another request', await sealed('other', undefined, context(flipBit(salt, 0))), [110]),
    refused('to another who shows something else', await sealed('shown', undefined, other), [111]),
    refused('by another secret', await sealed('key', undefined, context(), ticket.secret), [111]),
    refused('in clear', concat(salt, plain(good, 1040)), [115]),
    refused('a bit flipped', flipBit(bytes, 999)),
    refused('cut', bytes.subarray(0, -16), [112]),
    refused('continued', concat(bytes, new Uint8Array(1)), [112]),
    refused('empty', new Uint8Array(0), [112]),
    refused('shorter than its ticket', await sealed('short', [plain(message(new Uint8Array(0)).subarray(0, 60))])),
    await read('after interim answers', concat(Uint8Array.of(1), interim, goodAnswer.subarray(1))),
    await read('without content', concat(status(425), Uint8Array.of(0)), { status: 425, fields: [], content: nothing }),
    await read(
      'in pieces',
      concat(Uint8Array.of(3), length(200), fields, Uint8Array.of(0), withLength(content), Uint8Array.of(0)),
    ),
    await ofForm('that ends before its fields', status(204)),
    await ofForm('a request inside', goodRequest),
    await ofForm('interim alone', status(103)),
    await ofForm('of a status that there is not', status(600)),
  ];
}

/** Makes a sample for the specification: an announcement and a request, out of the vectors. */
export function httpcryptSample({ vectors }: KeyVectorFile): string {
  const input = (name: string, member: string) => String(vectors.find((each) => each.name === name)?.input[member]);
  const body = Buffer.from(input('request, good', 'body'), 'base64');
  return [
    'A record, two of the addresses that carry it, and a request; the body is cut here:',
    '',
    '```',
    ...(recordText(recordOf()).match(/.{1,90}/g) ?? []),
    input('addresses, good', 'addresses').split(' ')[0],
    input('addresses, of IPv4', 'addresses').split(' ')[0],
    '',
    'POST /a/3kTq0cMxPl HTTP/1.1',
    'Host: keys.news.example',
    'User-Agent: Wget/1.25.0',
    'Accept: */*',
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
