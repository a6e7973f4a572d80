import sodium from 'libsodium-wrappers';
import { describe, expect, it } from 'vitest';
import { hchacha20, x25519KeyPair, xchachaOpen, xchachaSeal } from '#channel';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { utf8 } from '../../core/encoding/bytes.ts';
import { fromHex, toHex } from '../../core/encoding/hex.ts';
import type { ChannelErrorCode } from '../../core/httpcrypt/errors.ts';
import {
  beginExchange,
  decodeCookie,
  encodeCookie,
  openAnswer,
  openRequest,
  sealAnswer,
  sealRequest,
} from '../../core/httpcrypt/message.ts';
import {
  recordAddresses,
  recordFromAddresses,
  recordFromText,
  recordText,
  serverKey,
  signRecord,
  verifyRecord,
} from '../../core/httpcrypt/record.ts';
import type { KeyVectorFile } from '../vectors/format.ts';
import file from '../vectors/httpcrypt.json' with { type: 'json' };
import { runHttpcryptVector } from '../vectors/run/httpcrypt.ts';
import { expectedKeyOutcome } from '../vectors/run/keys.ts';

const { vectors } = file as unknown as KeyVectorFile;
const CODES = { 'channel-key-refused': true, 'channel-unreadable': true } satisfies Record<ChannelErrorCode, true>;

describe('the vectors of httpcrypt.json', () => {
  it('cover success and every error code, and have names of their own', () => {
    expect([...new Set(vectors.map(({ outcome }) => outcome))].sort()).toEqual([...Object.keys(CODES), 'success']);
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

describe('the primitives of HTTPCrypt', () => {
  it('seal the example of draft-irtf-cfrg-xchacha-03, A.3.1', () => {
    const bytes = (hex: string) => fromHex(hex) ?? new Uint8Array(0);
    const plaintext = utf8(
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.",
    );
    const [key, nonce] = [0x80, 0x40].map((from, index) =>
      Uint8Array.from({ length: 32 - 8 * index }, (_, i) => from + i),
    );
    if (!key || !nonce) throw new Error('unreachable');
    const data = bytes('50515253c0c1c2c3c4c5c6c7');
    const sealed = xchachaSeal(key, nonce, plaintext, data);
    expect(toHex(sealed.subarray(24))).toBe(
      'bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49',
    );
    expect(xchachaOpen(key, sealed, data)).toEqual(Buffer.from(plaintext));
    expect(xchachaOpen(key, sealed, new Uint8Array(0))).toBeUndefined();
    expect(xchachaOpen(key, sealed.subarray(0, 39), data)).toBeUndefined();
  });

  it('are those of libsodium', () => {
    for (let length = 0; length < 300; length += 7) {
      const [key, nonce, data, text] = [
        randomBytes(32),
        randomBytes(24),
        randomBytes(length % 50),
        randomBytes(length),
      ];
      const theirs = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(text, data, null, nonce, key);
      expect(toHex(xchachaSeal(key, nonce, text, data))).toBe(toHex(nonce) + toHex(theirs));
      const short = Uint8Array.of(0, 0, 0, 0, ...nonce.subarray(16));
      const inner = hchacha20(key, nonce.subarray(0, 16));
      const inside = sodium.crypto_aead_chacha20poly1305_ietf_encrypt(text, data, null, short, inner);
      expect(toHex(inside)).toBe(toHex(theirs));
    }
  });
});

it('what one side writes the other reads, whatever bit 255 of its key is', async () => {
  const server = x25519KeyPair(randomBytes(32));
  const tops = new Set<number>();
  for (let round = 0; round < 20; round++) {
    const exchange = beginExchange(server.publicKey);
    tops.add((exchange.shown[31] ?? 0) >> 7);
    const keyId = randomBytes(10);
    const cookie = decodeCookie(encodeCookie(keyId, exchange.shown));
    expect(cookie && [toHex(cookie.keyId), toHex(cookie.shown)]).toEqual([toHex(keyId), toHex(exchange.shown)]);
    const content = randomBytes(round * 700);
    const body = sealRequest(server.publicKey, exchange, { target: 'POST /v1/keys', content });
    const secret = server.agree(exchange.shown) ?? new Uint8Array(0);
    const request = openRequest(server.publicKey, { shown: exchange.shown, secret }, body);
    expect(request?.target).toBe('POST /v1/keys');
    expect(toHex(request?.content ?? new Uint8Array(0))).toBe(toHex(content));
    const ticket = { shown: randomBytes(32), secret: randomBytes(32) };
    const answer = await openAnswer(
      exchange.secret,
      body,
      await sealAnswer(secret, body, { status: 403, content, ticket }),
    );
    expect([answer.status, toHex(answer.content), toHex(answer.ticket.secret)]).toEqual([
      403,
      toHex(content),
      toHex(ticket.secret),
    ]);
  }
  expect([...tops].sort()).toEqual([0, 1]);
});

it('attack 110: under one secret, an answer opens as that to its own request only, and no request is an answer', async () => {
  const exchange = { shown: randomBytes(32), secret: randomBytes(32) };
  const ticket = { shown: randomBytes(32), secret: randomBytes(32) };
  const publicKey = randomBytes(32);
  const message = { target: 'POST /v1/keys', content: new Uint8Array(9) };
  const [one, other] = [sealRequest(publicKey, exchange, message), sealRequest(publicKey, exchange, message)];
  const answer = await sealAnswer(exchange.secret, one, { status: 200, content: new Uint8Array(9), ticket });
  expect((await openAnswer(exchange.secret, one, answer)).status).toBe(200);
  for (const [request, body] of [
    [other, answer],
    [one, one],
    [one, other],
  ] as const)
    await expect(openAnswer(exchange.secret, request, body)).rejects.toMatchObject({ code: 'channel-unreadable' });
  expect(openRequest(publicKey, exchange, answer)).toBeUndefined();
});

it('attack 111: under one secret, a request opens with the two keys that it was sealed for', () => {
  const exchange = { shown: randomBytes(32), secret: randomBytes(32) };
  const publicKey = randomBytes(32);
  const body = sealRequest(publicKey, exchange, { target: 'POST /v1/keys', content: new Uint8Array(9) });
  expect(openRequest(publicKey, exchange, body)).toBeDefined();
  expect(openRequest(randomBytes(32), exchange, body)).toBeUndefined();
  expect(openRequest(publicKey, { ...exchange, shown: randomBytes(32) }, body)).toBeUndefined();
});

it('reads a record back from each of its spellings', async () => {
  const signer = ed25519KeyPair(randomBytes(32));
  const url = 'http://keys.news.example/a/';
  const key = await serverKey(x25519KeyPair(randomBytes(32)).publicKey, 1_800_000_000);
  const record = signRecord(key, url, signer.secretKey);
  const spellings = [
    recordFromText(recordText(record)),
    recordFromText(`${recordText(record)}\nsomething else`),
    recordFromAddresses(recordAddresses(record, 6).toReversed()),
    recordFromAddresses(recordAddresses(record, 4).toReversed()),
  ];
  for (const read of spellings) {
    const verified = await verifyRecord(read, { url, key: signer.publicKey }, 1_800_000_000);
    expect(toHex(verified.publicKey)).toBe(toHex(key.publicKey));
  }
});

it.each([4, 6] as const)('reads no record from other IPv%i addresses', async (family) => {
  const signer = ed25519KeyPair(randomBytes(32));
  const key = await serverKey(x25519KeyPair(randomBytes(32)).publicKey, 1_800_000_000);
  const addresses = recordAddresses(signRecord(key, 'http://keys.news.example/a/', signer.secretKey), family);
  const [first = '', ...others] = addresses;
  const last = addresses.slice(0, -1);
  const strange = family === 4 ? ['98.0.0', '98.0.0.256', '98.1.1.1', '1.2.3.4', 'x'] : ['2a07::1', '::1', '2a0x::'];
  for (const wrong of [
    [],
    others,
    [...addresses, first],
    [...others, others[0] ?? ''],
    ...strange.map((end) => [...last, end]),
  ])
    expect(recordFromAddresses(wrong)).toBeUndefined();
});
