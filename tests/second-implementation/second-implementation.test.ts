/** A second implementation, in Python and from the specifications alone, must come to the same as ours. */
import { generateKeyPairSync } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { openMessage } from '../../core/crypto/chunked-encryption.ts';
import { hpkeOpen, hpkeSeal } from '../../core/keys/hpke.ts';
import { x25519KeyPair, x25519PublicKey } from '../../core/primitives/webcrypto-x25519.ts';
import canonicalJson from '../vectors/canonical-json.json' with { type: 'json' };
import {
  type CanonicalJsonVectorFile,
  fromBase64,
  type KeyVectorFile,
  type ObjectVectorFile,
  type PathVectorFile,
  toBase64,
} from '../vectors/format.ts';
import httpcrypt from '../vectors/httpcrypt.json' with { type: 'json' };
import keys from '../vectors/keys.json' with { type: 'json' };
import link from '../vectors/link.json' with { type: 'json' };
import paths from '../vectors/paths.json' with { type: 'json' };
import objects from '../vectors/protected-object.json' with { type: 'json' };
import { expectedKeyOutcome } from '../vectors/run/keys.ts';
import { expectedOutcome } from '../vectors/run/objects.ts';
import { freshHttpcryptVectors, freshKeyVectors, freshLinkVectors, freshObjectVectors } from './fresh.ts';
import { runPython } from './run-python.ts';

const objectFile = objects as unknown as ObjectVectorFile;
const keyFile = keys as unknown as KeyVectorFile;
const httpcryptFile = httpcrypt as unknown as KeyVectorFile;
const linkFile = link as unknown as KeyVectorFile;
const pathFile = paths as PathVectorFile;
const jsonFile = canonicalJson as CanonicalJsonVectorFile;
const count = (lists: PathVectorFile) => Object.values(lists).reduce((total, list) => total + list.length, 0);

describe('the second implementation', async () => {
  const came = await runPython({
    objects: objectFile,
    keys: keyFile,
    httpcrypt: httpcryptFile,
    link: linkFile,
    paths: pathFile,
    canonicalJson: jsonFile,
  });

  it(`comes to the same on ${objectFile.vectors.length} vectors of protected-object.json`, () => {
    expect(disagreements(objectFile.vectors, expectedOutcome, came.objects)).toEqual([]);
  });

  it(`comes to the same on ${keyFile.vectors.length} vectors of keys.json`, () => {
    expect(disagreements(keyFile.vectors, expectedKeyOutcome, came.keys)).toEqual([]);
  });

  it(`comes to the same on ${httpcryptFile.vectors.length} vectors of httpcrypt.json`, () => {
    expect(disagreements(httpcryptFile.vectors, expectedKeyOutcome, came.httpcrypt)).toEqual([]);
  });

  it(`comes to the same on ${linkFile.vectors.length} vectors of link.json`, () => {
    expect(disagreements(linkFile.vectors, expectedKeyOutcome, came.link)).toEqual([]);
  });

  it(`comes to the same on ${count(pathFile)} vectors of paths.json`, () => {
    expect(came.paths).toEqual(pathFile);
  });

  it(`comes to the same on ${jsonFile.vectors.length} vectors of canonical-json.json`, () => {
    expect(came.canonicalJson).toEqual(jsonFile.vectors);
  });
});

describe('the second implementation reads what ours writes', async () => {
  const [objects, keys, httpcrypt, link] = [
    await freshObjectVectors(),
    await freshKeyVectors(),
    await freshHttpcryptVectors(),
    await freshLinkVectors(),
  ];
  const came = await runPython({ objects, keys, httpcrypt, link });

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
});

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

it('our Cobblestone-256 opens what the cryptography package encrypts', async () => {
  const sizes = [0, 1, 16_383, 16_384, 16_385, 32_768, 100_000];
  const messages = sizes.map((size) => ({
    key: randomBytes(32),
    context: randomBytes(size % 100),
    message: randomBytes(size),
  }));
  const { cobblestone } = await runPython({
    cobblestone: messages.map(({ key, context, message }) => ({
      key: toBase64(key),
      context: toBase64(context),
      message: toBase64(message),
    })),
  });
  expect(cobblestone.length).toBe(sizes.length);
  for (const [index, { key, context, message }] of messages.entries()) {
    const opened = await openMessage(key, context, fromBase64(cobblestone[index] ?? ''));
    expect(Buffer.compare(opened ?? Buffer.alloc(0), message), `${message.length} bytes`).toBe(0);
  }
});

it('our HPKE and that of the cryptography package open what the other seals', async () => {
  const [theirs, ours] = [generateKeyPairSync('x25519'), await x25519KeyPair(false)];
  const { d = '', x = '' } = theirs.privateKey.export({ format: 'jwk' });
  const info = randomBytes(20);
  const messages = [0, 1, 40_000].map((size) => randomBytes(size));
  const sealed = await Promise.all(messages.map((message) => hpkeSeal(Buffer.from(x, 'base64url'), info, message)));
  const shared = {
    secretKey: toBase64(Buffer.from(d, 'base64url')),
    publicKey: toBase64(await x25519PublicKey(ours)),
    info: toBase64(info),
  };
  const { hpke } = await runPython({
    hpke: sealed.map((each) => ({ ...shared, sealed: toBase64(each ?? new Uint8Array(0)) })),
  });
  expect(hpke.map(({ opened }) => opened)).toEqual(messages.map(toBase64));
  const opened = await Promise.all(hpke.map((each) => hpkeOpen(ours, info, fromBase64(each.sealed))));
  expect(opened.map((each) => each && toBase64(each))).toEqual(messages.map(toBase64));
});
