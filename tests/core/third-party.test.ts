/** Vectors that others made, against what core exports: tests/vectors/third-party/README.md. */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { hkdfExpand, hkdfExtract } from '../../core/crypto/hkdf.ts';
import { checkX25519PublicKey } from '../../core/keys/device.ts';
import { KeyError } from '../../core/keys/errors.ts';
import * as node from '../../core/primitives/node.ts';
import * as webcrypto from '../../core/primitives/webcrypto.ts';
import { cctvSignatures, wycheproofSignatures } from '../vectors/run/ed25519.ts';
import cctv from '../vectors/third-party/cctv_ed25519vectors.json' with { type: 'json' };
import aesGcm from '../vectors/third-party/wycheproof_aes_gcm_test.json' with { type: 'json' };
import ed25519 from '../vectors/third-party/wycheproof_ed25519_test.json' with { type: 'json' };
import hkdf from '../vectors/third-party/wycheproof_hkdf_sha512_test.json' with { type: 'json' };
import xdh from '../vectors/third-party/wycheproof_x25519_test.json' with { type: 'json' };

const IMPLEMENTATIONS = [
  ['libsodium', node],
  ['WebCrypto and noble', webcrypto],
] as const;
const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
const hex = (data: Uint8Array | undefined) => data && Buffer.from(data).toString('hex');

it('every file in the folder is run here', () => {
  const folder = fileURLToPath(new URL('../vectors/third-party', import.meta.url));
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  expect(files.sort()).toEqual([
    'cctv_ed25519vectors.json',
    'wycheproof_aes_gcm_test.json',
    'wycheproof_ed25519_test.json',
    'wycheproof_hkdf_sha512_test.json',
    'wycheproof_x25519_test.json',
  ]);
});

describe('Wycheproof, AES-256-GCM', () => {
  const groups = aesGcm.testGroups.filter(({ ivSize, keySize }) => ivSize === 96 && keySize === 256);
  const tests = groups.flatMap((group) => group.tests);

  it.each([
    ['node:crypto', node],
    ['WebCrypto', webcrypto],
  ])('66 vectors on %s', async (_, { aes256GcmSeal, aes256GcmOpen }) => {
    expect(tests.length).toBe(66);
    for (const { tcId, key, iv, aad, msg, ct, tag, result } of tests) {
      const opened = await aes256GcmOpen(bytes(key), bytes(iv), bytes(ct + tag), bytes(aad));
      expect(hex(opened), `opening ${tcId}`).toBe(result === 'valid' ? msg : undefined);
      const sealed = await aes256GcmSeal(bytes(key), bytes(iv), bytes(msg), bytes(aad));
      expect(hex(sealed) === ct + tag, `sealing ${tcId}`).toBe(result === 'valid');
    }
  });
});

it('Wycheproof, HKDF-SHA-512: 83 vectors', async () => {
  const tests = hkdf.testGroups.flatMap((group) => group.tests);
  expect(tests.length).toBe(83);
  for (const { tcId, ikm, salt, info, size, okm, result } of tests) {
    const key = await hkdfExtract(bytes(salt), bytes(ikm));
    const expanded = hkdfExpand(key, bytes(info), size);
    if (result === 'valid') expect(hex(await expanded), `vector ${tcId}`).toBe(okm);
    else await expect(expanded, `vector ${tcId}`).rejects.toThrow(RangeError);
  }
});

it.each(IMPLEMENTATIONS)('attack 5: Wycheproof, Ed25519: 151 vectors on %s', async (_, { ed25519Verify }) => {
  const vectors = wycheproofSignatures(ed25519);
  expect(vectors.length).toBe(151);
  for (const { name, key, message, signature, valid } of vectors)
    expect(await ed25519Verify(signature, message, key), name).toBe(valid);
});

it.each(IMPLEMENTATIONS)('attack 5: CCTV, Ed25519: 914 vectors of odd points on %s', async (_, { ed25519Verify }) => {
  const vectors = cctvSignatures(cctv);
  expect(vectors.filter(({ valid }) => valid).length).toBe(43);
  expect(vectors.length).toBe(914);
  for (const { name, key, message, signature, valid } of vectors)
    expect(await ed25519Verify(signature, message, key), name).toBe(valid);
});

describe('Wycheproof, X25519', () => {
  const tests = xdh.testGroups.flatMap((group) => group.tests);

  it.each(IMPLEMENTATIONS)('518 vectors of shared secrets on %s', (_, { x25519 }) => {
    expect(tests.length).toBe(518);
    for (const { tcId, public: point, private: scalar, shared, flags } of tests) {
      const expected = flags.includes('ZeroSharedSecret') ? undefined : shared;
      expect(hex(x25519(bytes(scalar), bytes(point))), `vector ${tcId}`).toBe(expected);
    }
  });

  it.each([
    ['attack 41: keys of low order are refused', 'LowOrderPublic', 31],
    ['attack 75: keys that are not canonical are refused', 'NonCanonicalPublic', 19],
    ['attack 75: keys with bit 255 set are refused', undefined, 1],
  ])('%s', (_, flag, least) => {
    const applies = (flags: string[], point: string) => (flag ? flags.includes(flag) : highBit(bytes(point)));
    const points = tests.filter(({ flags, public: point }) => applies(flags, point));
    expect(points.length).toBeGreaterThanOrEqual(least);
    for (const { tcId, public: point } of points) {
      expect(() => checkX25519PublicKey(bytes(point)), `vector ${tcId}`).toThrow(KeyError);
    }
  });

  it('all other keys are accepted', () => {
    const open = ['LowOrderPublic', 'NonCanonicalPublic'];
    const points = tests.filter(
      ({ flags, public: point }) => !flags.some((flag) => open.includes(flag)) && !highBit(bytes(point)),
    );
    expect(points.length).toBeGreaterThan(400);
    for (const { tcId, public: point } of points) {
      expect(() => checkX25519PublicKey(bytes(point)), `vector ${tcId}`).not.toThrow();
    }
  });
});

function highBit(point: Uint8Array): boolean {
  return ((point[31] ?? 0) & 0x80) !== 0;
}
