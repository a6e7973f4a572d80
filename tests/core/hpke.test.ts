/** HPKE against the vector of RFC 9180's authors for this suite (test-vectors.json, mode 0, kem 0x0020, kdf 0x0001, aead 0x0002), and by properties. */
import { describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { utf8 } from '../../core/encoding/bytes.ts';
import { hpkeOpen, hpkeSeal } from '../../core/keys/hpke.ts';
import { x25519KeyPair, x25519PublicKey } from '../../core/primitives/webcrypto-x25519.ts';

const VECTOR = {
  info: '4f6465206f6e2061204772656369616e2055726e',
  skRm: '497b4502664cfea5d5af0b39934dac72242a74f8480451e1aee7d6a53320333d',
  pkRm: '430f4b9859665145a6b1ba274024487bd66f03a2dd577d7753c68d7d7d00c00c',
  enc: '6c93e09869df3402d7bf231bf540fadd35cd56be14f97178f0954db94b7fc256',
  aad: '436f756e742d30',
  pt: '4265617574792069732074727574682c20747275746820626561757479',
  ct: 'e5d84cd531cfb583096e7cfa9641bd3079cf3a91cda813c52deb5f512be9931980a41de125a925cdad859d5b7a',
};
const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
const INFO = utf8('info');
const MESSAGE = utf8('message');
/** Points of small order: RFC 7748 section 6.1, and the twins that are not canonical. */
const SMALL_ORDER = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
];

/** A key pair from its raw halves, as PKCS #8 (RFC 8410) has the private one. */
async function importPair(secret: Uint8Array, publicKey: Uint8Array): Promise<CryptoKeyPair> {
  const pkcs8 = Buffer.concat([bytes('302e020100300506032b656e04220420'), secret]);
  const { subtle } = globalThis.crypto;
  return {
    privateKey: await subtle.importKey('pkcs8', pkcs8, { name: 'X25519' }, false, ['deriveBits']),
    publicKey: await subtle.importKey('raw', Uint8Array.from(publicKey), { name: 'X25519' }, true, []),
  };
}

const { info, skRm, pkRm, enc, aad, pt, ct } = VECTOR;

describe('HPKE', () => {
  it('opens the published vector', async () => {
    const recipient = await importPair(bytes(skRm), bytes(pkRm));
    const opened = await hpkeOpen(recipient, bytes(info), bytes(enc + ct), bytes(aad));
    expect(opened && Buffer.from(opened).toString('hex')).toBe(pt);
  });

  it('opens what it seals, with a private key that cannot be extracted', async () => {
    const pair = await x25519KeyPair(false);
    const recipient = await x25519PublicKey(pair);
    for (const length of [0, 1, 65_536]) {
      const message = randomBytes(length);
      const [one, other] = [await hpkeSeal(recipient, INFO, message), await hpkeSeal(recipient, INFO, message)];
      if (!one || !other) throw new Error('not sealed');
      expect(one.length).toBe(length + 48);
      expect(Buffer.from(one).equals(other)).toBe(false);
      expect(Buffer.from((await hpkeOpen(pair, INFO, one)) ?? 'none').equals(message)).toBe(true);
    }
    await expect(globalThis.crypto.subtle.exportKey('pkcs8', pair.privateKey)).rejects.toThrow();
  });

  it('refuses every altered byte, a cut message, another key, another info and other data', async () => {
    const pair = await x25519KeyPair(false);
    const sealed = await hpkeSeal(await x25519PublicKey(pair), INFO, MESSAGE, utf8('data'));
    if (!sealed) throw new Error('not sealed');
    expect(Buffer.from((await hpkeOpen(pair, INFO, sealed, utf8('data'))) ?? '').equals(MESSAGE)).toBe(true);
    for (let position = 0; position < sealed.length; position++) {
      const altered = Uint8Array.from(sealed, (byte, index) => byte ^ (index === position ? 1 : 0));
      expect(await hpkeOpen(pair, INFO, altered, utf8('data')), `byte ${position}`).toBeUndefined();
    }
    for (const length of [0, 31, 32, 47, sealed.length - 1])
      expect(await hpkeOpen(pair, INFO, sealed.subarray(0, length), utf8('data'))).toBeUndefined();
    expect(await hpkeOpen(await x25519KeyPair(false), INFO, sealed, utf8('data'))).toBeUndefined();
    expect(await hpkeOpen(pair, utf8('infp'), sealed, utf8('data'))).toBeUndefined();
    expect(await hpkeOpen(pair, INFO, sealed)).toBeUndefined();
  });

  it.each(SMALL_ORDER)('attack 41: neither seals to nor opens from a point of small order: %s', async (point) => {
    expect(await hpkeSeal(bytes(point), INFO, MESSAGE)).toBeUndefined();
    const pair = await x25519KeyPair(false);
    expect(await hpkeOpen(pair, INFO, Buffer.concat([bytes(point), randomBytes(32)]))).toBeUndefined();
  });
});
