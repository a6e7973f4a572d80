/** Properties of keys on their way from the publisher to the device. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes, xwingKeyPair } from '#primitives';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import {
  acceptBinding,
  answerBinding,
  encodeBindingRequest,
  normaliseCode,
  verifyBindingRequest,
} from '../../core/keys/binding.ts';
import { encodeBundle, openBundle, recipientIdOf } from '../../core/keys/bundle.ts';
import { deriveDeviceKeys } from '../../core/keys/device.ts';
import { KeyError } from '../../core/keys/errors.ts';
import {
  encodeKeyAnswer,
  encodeKeyRequest,
  isRequestBy,
  openKeyAnswer,
  parseKeyRequest,
} from '../../core/keys/key-request.ts';
import { unwrapKey, wrapKey } from '../../core/keys/wrapped-key.ts';
import { publisherIdentity } from '../../core/object/writer.ts';

const KEY_SERVER = 'https://keys.example';
const publisher = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
const provider = { keyServer: KEY_SERVER, publisher: publisher.id };
const CODE = '0123456789ABCDEF';
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

async function fresh(kind: 'set' | 'device') {
  const key = randomBytes(32);
  return { id: await keyIdOf(kind, key), key };
}

function flip(bytes: Uint8Array, position: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  const at = position % copy.length;
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

describe('a wrapped key', () => {
  it('attack 42: comes out as it went in, and no altered character goes unnoticed', async () => {
    const [outer, inner] = [await fresh('device'), await fresh('set')];
    const wrapped = await wrapKey(outer, { ...inner, kind: 'set' }, { notBefore: 0, notAfter: 9 });
    expect(await unwrapKey(outer, wrapped, 5)).toEqual(Buffer.from(inner.key));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('id', 'under', 'wrapped'),
        fc.nat(),
        fc.nat(63),
        async (member, position, letter) => {
          const text = wrapped[member as 'id'];
          const at = position % text.length;
          const altered = text.slice(0, at) + alphabet[letter] + text.slice(at + 1);
          fc.pre(altered !== text);
          await expect(unwrapKey(outer, { ...wrapped, [member]: altered }, 5)).rejects.toThrow(KeyError);
        },
      ),
    );
  });

  it('never repeats a nonce', async () => {
    const [outer, inner] = [await fresh('device'), await fresh('set')];
    const wrap = () => wrapKey(outer, { ...inner, kind: 'set' }, { notBefore: 0, notAfter: 9 });
    const many = await Promise.all(Array.from({ length: 200 }, wrap));
    expect(new Set(many.map(({ wrapped }) => wrapped.slice(0, 16))).size).toBe(200);
  });
});

describe('binding', async () => {
  const device = await deriveDeviceKeys(randomBytes(32), provider);
  const request = encodeBindingRequest(device, publisher.id, CODE, 1000);
  const { answer, deviceKey } = await answerBinding(request, await verifyBindingRequest(request), KEY_SERVER);

  it('gives both sides one key, and another key each time', async () => {
    expect(await acceptBinding(request, answer, device, provider)).toEqual(deviceKey);
    const again = await answerBinding(request, await verifyBindingRequest(request), KEY_SERVER);
    expect(again.deviceKey.id).not.toBe(deviceKey.id);
  });

  it('attack 74: no altered byte of request or answer is accepted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (position) => {
        await expect(verifyBindingRequest(flip(request, position))).rejects.toThrow(KeyError);
        await expect(acceptBinding(request, flip(answer, position), device, provider)).rejects.toThrow(KeyError);
        await expect(acceptBinding(flip(request, position), answer, device, provider)).rejects.toThrow(KeyError);
      }),
    );
  });

  it('attack 87: two publishers get keys that have nothing in common', async () => {
    const seed = randomBytes(32);
    const other = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
    const devices = await Promise.all(
      [provider, { ...provider, publisher: other.id }, { ...provider, keyServer: 'https://b.example' }].map((each) =>
        deriveDeviceKeys(seed, each),
      ),
    );
    expect(new Set(devices.map(({ xwing }) => toBase64url(xwing.publicKey))).size).toBe(3);
    expect(new Set(devices.map(({ ed25519 }) => toBase64url(ed25519.publicKey))).size).toBe(3);
  });

  it('reads a code however people type it', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'0123456789ABCDEFGHJKMNPQRSTVWXYZ'), minLength: 16, maxLength: 16 }),
        (code) => {
          const typed = ` ${code.slice(0, 4)}-${code.slice(4, 8)} ${code.slice(8)}`
            .toLowerCase()
            .replaceAll('0', 'o')
            .replaceAll('1', 'l');
          expect(normaliseCode(typed)).toBe(code);
          expect(normaliseCode(code.slice(1))).toBeUndefined();
          expect(normaliseCode(`U${code.slice(1)}`)).toBeUndefined();
        },
      ),
    );
  });
});

describe('a key request', async () => {
  const [device, set] = [await fresh('device'), await fresh('set')];
  const request = await encodeKeyRequest(device, KEY_SERVER, [set.id], 1000);
  const wrapped = await wrapKey(device, { ...set, kind: 'set' }, { notBefore: 0, notAfter: 9 });
  const answer = await encodeKeyAnswer({ keys: [wrapped], refused: [], time: 1001 }, request, device.key);

  it('is answered with the keys asked for', async () => {
    expect(await isRequestBy(parseKeyRequest(request), KEY_SERVER, device.key)).toBe(true);
    const { keys } = await openKeyAnswer(answer, request, device.key);
    expect(keys).toEqual([wrapped]);
  });

  it('attack 74: no altered byte of request or answer is accepted, nor an answer to another request', async () => {
    const later = await encodeKeyRequest(device, KEY_SERVER, [set.id], 1000);
    await expect(openKeyAnswer(answer, later, device.key)).rejects.toThrow(KeyError);
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (position) => {
        await expect(openKeyAnswer(flip(answer, position), request, device.key)).rejects.toThrow(KeyError);
        expect(await isAccepted(flip(request, position))).toBe(false);
      }),
    );
  });

  async function isAccepted(bytes: Uint8Array): Promise<boolean> {
    try {
      return await isRequestBy(parseKeyRequest(bytes), KEY_SERVER, device.key);
    } catch (error) {
      expect(error).toBeInstanceOf(KeyError);
      return false;
    }
  }
});

describe('a key bundle', async () => {
  const recipient = xwingKeyPair(randomBytes(32));
  const set = await fresh('set');
  const about = { issued: 1000, serial: 1, workspace: toBase64url(randomBytes(16)) };
  const content = {
    descriptor: '',
    root: toBase64url(randomBytes(100)),
    timestampKey: toBase64url(randomBytes(32)),
    sets: [{ id: set.id, key: toBase64url(set.key), name: 'subscribers', site: 'news.example' }],
  };
  const bundle = await encodeBundle(content, about, recipient.publicKey, publisher);

  it('gives the key server what the publisher put in', async () => {
    expect(await openBundle(bundle, recipient)).toEqual({
      ...content,
      ...about,
      publisher: publisher.id,
      recipient: await recipientIdOf(recipient.publicKey),
    });
  });

  it('no altered byte is accepted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (position) => {
        await expect(openBundle(flip(bundle, position), recipient)).rejects.toThrow(KeyError);
      }),
    );
  });

  it('attack 41: is not sealed to a key that is malformed or of low order', async () => {
    const lowOrder = Uint8Array.from(recipient.publicKey).fill(0, 1184);
    for (const key of [new Uint8Array(0), recipient.publicKey.subarray(1), lowOrder, new Uint8Array(1216).fill(0xff)]) {
      await expect(encodeBundle(content, about, key, publisher)).rejects.toMatchObject({ code: 'bundle-recipient' });
    }
  });
});
