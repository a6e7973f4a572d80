/** The two implementations of the primitives must be one: on WebCrypto, which browsers have, and on node:crypto. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHUNK_LENGTH, chunkNonce, type Primitives, SEALED_CHUNK_LENGTH } from '../../core/primitives/contract.ts';
import * as node from '../../core/primitives/node.ts';
import { randomBytes } from '../../core/primitives/random.ts';
import * as webcrypto from '../../core/primitives/webcrypto.ts';

const IMPLEMENTATIONS: [string, Primitives, Primitives][] = [
  ['node:crypto seals, WebCrypto opens', node, webcrypto],
  ['WebCrypto seals, node:crypto opens', webcrypto, node],
];
const data = fc.uint8Array({ maxLength: 200 });
const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
const nonce = fc.uint8Array({ minLength: 12, maxLength: 12 });
const plain = (bytes: Uint8Array | undefined) => bytes && Uint8Array.from(bytes);

describe('hashes', () => {
  it('agree, and with node:crypto used directly', async () => {
    await fc.assert(
      fc.asyncProperty(data, async (bytes) => {
        const expected = Uint8Array.from(createHash('sha256').update(bytes).digest());
        expect(plain(await node.sha256(bytes))).toEqual(expected);
        expect(plain(await webcrypto.sha256(bytes))).toEqual(expected);
      }),
    );
  });

  it.each([
    ['hmacSha256', node.hmacSha256, webcrypto.hmacSha256],
    ['hmacSha512', node.hmacSha512, webcrypto.hmacSha512],
  ])('%s agrees for keys of every length, the empty one too', async (_, one, other) => {
    await fc.assert(
      fc.asyncProperty(data, data, async (macKey, bytes) => {
        expect(plain(await one(macKey, bytes))).toEqual(plain(await other(macKey, bytes)));
      }),
      { examples: [[new Uint8Array(0), new Uint8Array(0)]] },
    );
  });
});

describe.each(IMPLEMENTATIONS)('%s', (_, sealer, opener) => {
  it('AES-256-GCM', async () => {
    await fc.assert(
      fc.asyncProperty(key, nonce, data, data, fc.nat(), async (k, n, message, additional, position) => {
        const sealed = Uint8Array.from(await sealer.aes256GcmSeal(k, n, message, additional));
        expect(plain(await opener.aes256GcmOpen(k, n, sealed, additional))).toEqual(message);
        const at = position % sealed.length;
        sealed[at] = (sealed[at] ?? 0) ^ 0x80;
        expect(await opener.aes256GcmOpen(k, n, sealed, additional)).toBeUndefined();
        expect(await opener.aes256GcmOpen(k, n, sealed.subarray(0, 15), additional)).toBeUndefined();
      }),
    );
  });

  const lengths = [0, 1, CHUNK_LENGTH - 1, CHUNK_LENGTH, CHUNK_LENGTH + 1, 3 * CHUNK_LENGTH, 3 * CHUNK_LENGTH + 17];
  const keys = { key: randomBytes(32), baseNonce: randomBytes(12) };

  it.each(lengths)('a run of chunks of %i bytes that ends the message', async (length) => {
    const message = randomBytes(length);
    const sealed = await sealer.sealChunks(keys, 254, message, true);
    expect(sealed.length).toBe(length + 16 * (Math.floor(length / CHUNK_LENGTH) + 1));
    expect(Buffer.compare((await opener.openChunks(keys, 254, sealed, true)) ?? Buffer.alloc(0), message)).toBe(0);
    expect(await opener.openChunks(keys, 255, sealed, true)).toBeUndefined();
  });

  it('a run of chunks in the middle of the message', async () => {
    const message = randomBytes(2 * CHUNK_LENGTH);
    const sealed = await sealer.sealChunks(keys, 65_535, message, false);
    expect(sealed.length).toBe(2 * SEALED_CHUNK_LENGTH);
    expect(Buffer.compare((await opener.openChunks(keys, 65_535, sealed, false)) ?? Buffer.alloc(0), message)).toBe(0);
    await expect(sealer.sealChunks(keys, 0, message.subarray(1), false)).rejects.toThrow(RangeError);
  });

  it.each([1, 15, SEALED_CHUNK_LENGTH - 1, SEALED_CHUNK_LENGTH + 1])(
    'no run in the middle has %i bytes',
    async (length) => {
      expect(await opener.openChunks(keys, 0, new Uint8Array(length), false)).toBeUndefined();
    },
  );

  it.each([0, 15, SEALED_CHUNK_LENGTH, SEALED_CHUNK_LENGTH + 15])('no run at the end has %i bytes', async (length) => {
    expect(await opener.openChunks(keys, 0, new Uint8Array(length), true)).toBeUndefined();
  });
});

describe('libsodium and noble', () => {
  const seed = randomBytes(32);

  it('sign the same, and take each other’s signatures alone', async () => {
    const [one, other] = [node.ed25519KeyPair(seed), webcrypto.ed25519KeyPair(seed)];
    expect(plain(other.publicKey)).toEqual(plain(one.publicKey));
    await fc.assert(
      fc.asyncProperty(data, fc.nat({ max: 511 }), async (message, bit) => {
        const signature = Uint8Array.from(node.ed25519Sign(message, one.secretKey));
        expect(webcrypto.ed25519Sign(message, other.secretKey)).toEqual(signature);
        expect(await webcrypto.ed25519Verify(signature, message, other.publicKey)).toBe(true);
        signature[bit >> 3] = (signature[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(await webcrypto.ed25519Verify(signature, message, other.publicKey)).toBe(false);
        expect(await node.ed25519Verify(signature, message, one.publicKey)).toBe(false);
      }),
    );
  });

  it.each([
    ['libsodium encapsulates, noble opens', node, webcrypto],
    ['noble encapsulates, libsodium opens', webcrypto, node],
  ])('X-Wing: %s', (_, sender, receiver) => {
    const { publicKey, secretKey } = receiver.xwingKeyPair(seed);
    expect(plain(sender.xwingKeyPair(seed).publicKey)).toEqual(plain(publicKey));
    const { ciphertext, sharedSecret } = sender.xwingEncapsulate(publicKey);
    expect(plain(receiver.xwingDecapsulate(ciphertext, secretKey))).toEqual(plain(sharedSecret));
    ciphertext[7] = (ciphertext[7] ?? 0) ^ 1;
    const rejected = receiver.xwingDecapsulate(ciphertext, secretKey);
    expect(plain(sender.xwingDecapsulate(ciphertext, sender.xwingKeyPair(seed).secretKey))).toEqual(plain(rejected));
  });

  it('compare secrets', () => {
    fc.assert(
      fc.property(data, data, (a, b) => {
        expect(webcrypto.equalSecrets(a, Uint8Array.from(a))).toBe(true);
        expect(webcrypto.equalSecrets(a, b)).toBe(node.equalSecrets(a, b));
      }),
    );
  });
});

it.each([
  [0, '000000000000000000000000'],
  [1, '000000000000000000000001'],
  [255, '0000000000000000000000ff'],
  [256, '000000000000000000000100'],
  [65_536, '000000000000000000010000'],
  [2 ** 32, '000000000000000100000000'],
  [2 ** 48 + 1, '000000000001000000000001'],
])('chunkNonce of chunk %i', (number, expected) => {
  expect(Buffer.from(chunkNonce(new Uint8Array(12), number)).toString('hex')).toBe(expected);
  const mask = new Uint8Array(12).fill(0xff);
  const inverted = chunkNonce(mask, number).map((byte) => byte ^ 0xff);
  expect(Buffer.from(inverted).toString('hex')).toBe(expected);
});

it.each([0, 1, 24, 65_536, 65_537, 300_000])('randomBytes gives %i bytes, all of them random', (length) => {
  const bytes = randomBytes(length);
  expect(bytes.length).toBe(length);
  // The last 32 bytes are all zero once in 2^256 tries.
  if (length >= 32) expect(bytes.subarray(-32).some((byte) => byte !== 0)).toBe(true);
});
