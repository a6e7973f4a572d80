/** A second implementation, in Python and from the specifications alone, must come to the same as ours. */
import { generateKeyPairSync } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { openMessage } from '../../core/crypto/chunked-encryption.ts';
import { hpkeOpen, hpkeSeal } from '../../core/keys/hpke.ts';
import { x25519KeyPair, x25519PublicKey } from '../../core/primitives/webcrypto-x25519.ts';
import { CANONICAL_JSON, HTTPCRYPT, KEYS, LINK, OBJECTS, PATHS } from '../vectors/files.ts';
import { fromBase64, toBase64 } from '../vectors/format.ts';
import { expectedKeyOutcome } from '../vectors/run/keys.ts';
import { expectedOutcome } from '../vectors/run/objects.ts';
import { freshHttpcryptVectors, freshKeyVectors, freshLinkVectors, freshObjectVectors } from './fresh.ts';
import { runPython } from './run-python.ts';

const pathCount = Object.values(PATHS).reduce((total, list) => total + list.length, 0);

describe('the second implementation', async () => {
  const files = { objects: OBJECTS, keys: KEYS, httpcrypt: HTTPCRYPT, link: LINK, paths: PATHS };
  const came = await runPython({ ...files, canonicalJson: CANONICAL_JSON });

  it(`comes to the same on ${OBJECTS.vectors.length} vectors of protected-object.json`, () => {
    expect(disagreements(OBJECTS.vectors, expectedOutcome, came.objects)).toEqual([]);
  });

  it(`comes to the same on ${KEYS.vectors.length} vectors of keys.json`, () => {
    expect(disagreements(KEYS.vectors, expectedKeyOutcome, came.keys)).toEqual([]);
  });

  it(`comes to the same on ${HTTPCRYPT.vectors.length} vectors of httpcrypt.json`, () => {
    expect(disagreements(HTTPCRYPT.vectors, expectedKeyOutcome, came.httpcrypt)).toEqual([]);
  });

  it(`comes to the same on ${LINK.vectors.length} vectors of link.json`, () => {
    expect(disagreements(LINK.vectors, expectedKeyOutcome, came.link)).toEqual([]);
  });

  it(`comes to the same on ${pathCount} vectors of paths.json`, () => expect(came.paths).toEqual(PATHS));

  it(`comes to the same on ${CANONICAL_JSON.vectors.length} vectors of canonical-json.json`, () => {
    expect(came.canonicalJson).toEqual(CANONICAL_JSON.vectors);
  });
});

describe('the second implementation reads what ours writes', async () => {
  const [objects, keys, httpcrypt, link] = [
    await freshObjectVectors(),
    await freshKeyVectors(),
    await freshHttpcryptVectors(),
    await freshLinkVectors(),
  ];
  const messages = [0, 1, 16_383, 16_384, 16_385, 32_768, 100_000].map((size) => ({
    key: randomBytes(32),
    context: randomBytes(size % 100),
    message: randomBytes(size),
  }));
  const cobblestone = messages.map(({ key, context, message }) => ({
    key: toBase64(key),
    context: toBase64(context),
    message: toBase64(message),
  }));
  const hpke = await hpkeMessages();
  const came = await runPython({ objects, keys, httpcrypt, link, cobblestone, hpke: hpke.given });

  it(`opens ${objects.vectors.length} fresh objects`, () => {
    expect(disagreements(objects.vectors, expectedOutcome, came.objects)).toEqual([]);
  });

  it(`takes ${httpcrypt.vectors.length} fresh messages over HTTPCrypt`, () => {
    expect(disagreements(httpcrypt.vectors, expectedKeyOutcome, came.httpcrypt)).toEqual([]);
  });

  it('puts a real handshake by way of the relays together as ours do', () => {
    expect(disagreements(link.vectors, expectedKeyOutcome, came.link)).toEqual([]);
  });

  it(`takes ${keys.vectors.length} fresh key messages`, () => {
    expect(disagreements(keys.vectors, expectedKeyOutcome, came.keys)).toEqual([]);
  });

  it('our Cobblestone-256 opens what the cryptography package encrypts', async () => {
    expect(came.cobblestone.length).toBe(messages.length);
    for (const [index, { key, context, message }] of messages.entries()) {
      const opened = await openMessage(key, context, fromBase64(came.cobblestone[index] ?? ''));
      expect(Buffer.compare(opened ?? Buffer.alloc(0), message), `${message.length} bytes`).toBe(0);
    }
  });

  it('our HPKE and that of the cryptography package open what the other seals', async () => {
    const expected = hpke.messages.map(toBase64);
    expect(came.hpke.map(({ opened }) => opened)).toEqual(expected);
    const opened = await Promise.all(came.hpke.map(({ sealed }) => hpkeOpen(hpke.ours, hpke.info, fromBase64(sealed))));
    expect(opened.map((each) => each && toBase64(each))).toEqual(expected);
  });
});

/** Messages that ours has sealed, with the key pair to seal them back to. */
async function hpkeMessages() {
  const [theirs, ours] = [generateKeyPairSync('x25519'), await x25519KeyPair(false)];
  const { d = '', x = '' } = theirs.privateKey.export({ format: 'jwk' });
  const info = randomBytes(20);
  const messages = [0, 1, 40_000].map((size) => randomBytes(size));
  const shared = {
    secretKey: toBase64(Buffer.from(d, 'base64url')),
    publicKey: toBase64(await x25519PublicKey(ours)),
    info: toBase64(info),
  };
  const seal = async (message: Uint8Array) => hpkeSeal(Buffer.from(x, 'base64url'), info, message);
  const sealed = await Promise.all(messages.map(seal));
  const given = sealed.map((each) => ({ ...shared, sealed: toBase64(each ?? new Uint8Array(0)) }));
  return { messages, ours, info, given };
}

/** The vectors of which the other implementation says something else, by name. */
function disagreements<Vector extends { name: string }>(
  vectors: readonly Vector[],
  expected: (vector: Vector) => object,
  came: readonly { name: string }[],
): object[] {
  expect(came.length).toBe(vectors.length);
  return vectors.flatMap((vector, index) => {
    const ours = { name: vector.name, ...expected(vector) };
    const theirs = came[index];
    return isDeepStrictEqual(ours, theirs) ? [] : [{ vector: vector.name, ours, theirs }];
  });
}
