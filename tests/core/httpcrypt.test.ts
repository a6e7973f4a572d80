import { describe, expect, it } from 'vitest';
import { x25519KeyPair } from '#channel';
import { ed25519KeyPair, randomBytes, sha256 } from '#primitives';
import { concat, utf8 } from '../../core/encoding/bytes.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { CHANNEL_ERRORS } from '../../core/httpcrypt/errors.ts';
import {
  type AnswerParts,
  beginExchange,
  cookieName,
  decodeCookie,
  type Exchange,
  encodeCookie,
  MessageReader,
  MessageWriter,
  sealAnswer,
  sealRequest,
  TICKET_LENGTH,
  ticketOf,
} from '../../core/httpcrypt/exchange.ts';
import {
  MAXIMUM_RECORD_ANSWER,
  recordAddresses4,
  recordAddresses6,
  recordAnswer,
  recordFromAddresses,
  recordFromAnswer,
  recordFromText,
  recordText,
  serverKey,
  signRecord,
  verifyRecord,
} from '../../core/httpcrypt/record.ts';
import { openAnswer, openRequest } from '../support/open-messages.ts';
import { HTTPCRYPT } from '../vectors/files.ts';
import { runHttpcryptVector } from '../vectors/run/httpcrypt.ts';
import { expectedKeyOutcome } from '../vectors/run/keys.ts';

const { vectors } = HTTPCRYPT;

describe('the vectors of httpcrypt.json', () => {
  it('cover success and the error codes of all steps, and have names of their own', () => {
    const outcomes = new Set(vectors.map(({ outcome }) => outcome));
    const codes = Object.entries(CHANNEL_ERRORS).flatMap(([code, entry]) => ('step' in entry ? code : []));
    expect([...outcomes].sort()).toEqual([...codes, 'success']);
    expect(new Set(vectors.map(({ name }) => name)).size).toBe(vectors.length);
  });

  it.each(vectors)('$operation: $name', async (vector) => {
    expect(await runHttpcryptVector(vector)).toEqual(expectedKeyOutcome(vector));
  });
});

it.each([
  [110, 'attack 110: reflection'],
  [111, 'attack 111: keys of others'],
  [112, 'attack 112: cut and continued'],
  [113, 'attack 113: a server key after its time'],
  [114, 'attack 114: wrong tickets'],
  [115, 'attack 115: an answer in clear'],
])('the vectors of row %i are refused (%s)', async (row) => {
  const about = vectors.filter(({ attacks }) => attacks?.includes(row));
  expect(about.length).toBeGreaterThan(0);
  for (const vector of about) expect((await runHttpcryptVector(vector)).outcome).toMatch(/^channel-/);
});

const HEAD = { method: 'POST', scheme: 'http', authority: 'a.example', path: '/b?c', fields: ['x-y', 'z'] };
const ticket = () => ticketOf(randomBytes(TICKET_LENGTH));
/** Two sides that have agreed. */
const exchanged = (): Exchange => ({ ...ticket(), publicKey: randomBytes(32) });

function codeOf(work: () => unknown): string {
  try {
    return `no error, but ${work()}`;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

it('reads on one side what the other writes, whatever bit 255 of its key is', () => {
  const server = x25519KeyPair(randomBytes(32));
  const tops = new Set<number>();
  for (let round = 0; round < 20; round++) {
    const exchange = beginExchange(server.publicKey);
    tops.add((exchange.shown[31] ?? 0) >> 7);
    const keyId = randomBytes(10);
    const cookie = decodeCookie(encodeCookie('connect.sid', keyId, exchange));
    expect(cookie && [toHex(cookie.keyId), toHex(cookie.shown)]).toEqual([toHex(keyId), toHex(exchange.shown)]);
    const content = randomBytes(round * 2000);
    const { body, salt } = sealRequest(exchange, HEAD, content);
    const there = { ...exchange, secret: server.agree(exchange.shown) ?? new Uint8Array(0) };
    const request = openRequest(there, body);
    expect(request.head).toEqual(HEAD);
    expect([toHex(request.content), toHex(request.salt)]).toEqual([toHex(content), toHex(salt)]);
    const given = ticket();
    const answer = sealAnswer(there, request.salt, given, { status: 403, fields: ['a', 'b'] }, content);
    const opened = openAnswer(exchange, salt, concat(...answer));
    expect([opened.status, opened.fields, toHex(opened.content)]).toEqual([403, ['a', 'b'], toHex(content)]);
    expect([toHex(opened.ticket.shown), toHex(opened.ticket.secret)]).toEqual([
      toHex(given.shown),
      toHex(given.secret),
    ]);
  }
  expect([...tops].sort()).toEqual([0, 1]);
});

it('a message that is written in pieces is read in pieces, and as soon as it is flushed', () => {
  const exchange = exchanged();
  const heard: unknown[] = [];
  const parts: AnswerParts = {
    ticket: ({ shown }) => heard.push(toHex(shown)),
    head: ({ status }) => heard.push(status),
    content: (piece) => heard.push(Buffer.from(piece).toString()),
  };
  const request = MessageWriter.ofRequest(exchange, HEAD);
  const given = ticket();
  const writer = MessageWriter.ofAnswer(exchange, request.salt, given, { status: 200, fields: [] });
  const reader = MessageReader.ofAnswer(exchange, request.salt, parts);
  expect(writer.push(utf8('one'))).toEqual([]);
  for (const chunk of writer.flush()) for (const byte of chunk) reader.push(Uint8Array.of(byte));
  expect(heard).toEqual([toHex(given.shown), 200, 'one']);
  writer.push(new Uint8Array(0));
  for (const chunk of writer.push(new Uint8Array(20_000).fill(65))) reader.push(chunk);
  for (const chunk of writer.end()) reader.push(chunk);
  reader.end();
  expect(heard.slice(3).join('')).toBe('A'.repeat(20_000));
  // A head that is longer than a chunk.
  const long = { ...HEAD, fields: ['x', 'y'.repeat(40_000)] };
  const sender = MessageWriter.ofRequest(exchange, long);
  const body = concat(...sender.push(utf8('content')), ...sender.end());
  expect(openRequest(exchange, body).head).toEqual(long);
  // Content is absent.
  const cut = MessageWriter.ofAnswer(exchange, request.salt, given, { status: 204, fields: [] });
  expect(openAnswer(exchange, request.salt, concat(...cut.end()))).toMatchObject({ status: 204, fields: [] });
});

it('attack 110: under one secret, an answer opens as that to its own request only, and no request is an answer', () => {
  const exchange = exchanged();
  const [one, other] = [sealRequest(exchange, HEAD, utf8('one')), sealRequest(exchange, HEAD, utf8('one'))];
  const answer = concat(...sealAnswer(exchange, one.salt, ticket(), { status: 200, fields: [] }, utf8('answer')));
  expect(openAnswer(exchange, one.salt, answer).status).toBe(200);
  for (const [{ salt }, body] of [
    [other, answer],
    [one, one.body],
    [one, other.body],
  ] as const)
    expect(codeOf(() => openAnswer(exchange, salt, body))).toBe('channel-unreadable');
  expect(codeOf(() => openRequest(exchange, answer))).toBe('channel-unreadable');
});

it('attack 111: under one secret, a request opens with the two keys that it was sealed for', () => {
  const exchange = exchanged();
  const { body } = sealRequest(exchange, HEAD, utf8('one'));
  expect(openRequest(exchange, body).head.method).toBe('POST');
  for (const changed of [{ publicKey: randomBytes(32) }, { shown: randomBytes(32) }, { secret: randomBytes(32) }])
    expect(codeOf(() => openRequest({ ...exchange, ...changed }, body))).toBe('channel-unreadable');
});

it('attack 112: a message in pieces whose end is missing is refused after what has come of it', () => {
  const exchange = exchanged();
  const writer = MessageWriter.ofRequest(exchange, HEAD);
  const begun = concat(...writer.push(utf8('begun')), ...writer.flush());
  let heard = '';
  const reader = MessageReader.ofRequest(exchange, {
    head: () => {},
    content: (piece) => (heard += Buffer.from(piece)),
  });
  reader.push(begun);
  expect(heard).toBe('begun');
  expect(codeOf(() => reader.end())).toBe('channel-unreadable');
});

it('the cookie of an endpoint has the name that its URL says', async () => {
  const names = ['session', 'sessionid', 'sid', 'SID', 'connect.sid', 'PHPSESSID', 'JSESSIONID', 'laravel_session'];
  const seen = new Set<string>();
  for (let number = 0; number < 100; number++) {
    const url = `http://${number}.example/a/`;
    const name = await cookieName(url);
    expect(name).toBe(names[((await sha256(utf8(url)))[0] ?? 0) % 8]);
    expect(decodeCookie(encodeCookie(name, randomBytes(10), ticket()))).toBeDefined();
    seen.add(name);
  }
  expect(seen.size).toBe(8);
});

it('a record survives its spellings', async () => {
  const signer = ed25519KeyPair(randomBytes(32));
  const url = 'http://keys.news.example/a/';
  const key = await serverKey(x25519KeyPair(randomBytes(32)).publicKey, 1_800_000_000);
  const record = signRecord(key, url, signer.secretKey);
  const spelt = [
    recordFromText(recordText(record)),
    recordFromAnswer(recordAnswer(record)),
    recordFromAddresses(recordAddresses6(record).toReversed()),
    recordFromAddresses(recordAddresses4(record).toReversed()),
  ];
  for (const read of spelt) {
    const verified = await verifyRecord(read, { url, key: signer.publicKey }, 1_800_000_000);
    expect(toHex(verified.publicKey)).toBe(toHex(key.publicKey));
  }
  const answers = Array.from({ length: 100 }, () => recordAnswer(record));
  expect(new Set(answers.map(({ length }) => length)).size).toBeGreaterThan(50);
  for (const { length } of answers) expect(length).toBeLessThanOrEqual(MAXIMUM_RECORD_ANSWER);
  for (const bad of [recordText(record), `x${recordText(record)}\n`, `${recordText(record)}\n\n`, '', '\n'])
    expect(recordFromAnswer(bad)).toBeUndefined();
});

it.each([recordAddresses4, recordAddresses6])(
  'reads no record from other addresses than those of one',
  async (spell) => {
    const signer = ed25519KeyPair(randomBytes(32));
    const key = await serverKey(x25519KeyPair(randomBytes(32)).publicKey, 1_800_000_000);
    const addresses = spell(signRecord(key, 'http://keys.news.example/a/', signer.secretKey));
    const strange =
      spell === recordAddresses4 ? ['98.0.0', '98.0.0.256', '98.1.1.1', '1.2.3.4', 'x'] : ['2a07::1', '::1', '2a0x::'];
    for (const end of strange) expect(recordFromAddresses([...addresses.slice(0, -1), end])).toBeUndefined();
  },
);
