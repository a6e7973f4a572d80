/** Set keys as handles whose bytes cannot be had: what the in-browser reader has in place of keys. WebCrypto gives such handles, here and in browsers. */
import { beforeAll, describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { hkdfExpand } from '../../core/crypto/hkdf.ts';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { collect, streamOf } from '../../core/encoding/byte-reader.ts';
import type { SetKeyHandle } from '../../core/object/document-reader.ts';
import { openDocument } from '../../core/object/open-document.ts';
import { encodeObject, publisherIdentity } from '../../core/object/writer.ts';

const [SITE, PATH, NOW] = ['news.example', '/story.html', 1_800_000_000];
const content = randomBytes(200_000);
const bytes = randomBytes(32);
let id: string;
let publisherKey: Uint8Array;
let object: Uint8Array;

beforeAll(async () => {
  const publisher = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
  publisherKey = publisher.publicKey;
  id = await keyIdOf('set', bytes);
  const metadata = { mediaType: 'text/html', contentLength: content.length };
  object = await encodeObject({ site: SITE, path: PATH, publisher, metadata, set: { id, key: bytes } }, content);
});

/** @param changes - what is wrong about it */
async function held(key: Uint8Array, changes: Partial<SetKeyHandle> = {}): Promise<SetKeyHandle> {
  const imported = await crypto.subtle.importKey(
    'raw',
    key as Uint8Array<ArrayBuffer>,
    { name: 'HMAC', hash: 'SHA-512' },
    false,
    ['sign'],
  );
  await expect(crypto.subtle.exportKey('raw', imported)).rejects.toThrow();
  const handle = async (data: Uint8Array) =>
    new Uint8Array(await crypto.subtle.sign('HMAC', imported, data as Uint8Array<ArrayBuffer>));
  return { id, notBefore: NOW, notAfter: NOW, handle, ...changes };
}

async function open(key: SetKeyHandle | undefined): Promise<Uint8Array> {
  const context = { now: NOW, findKey: async () => key };
  const expected = { site: SITE, path: PATH, publisherKey };
  const opened = await openDocument(streamOf(object), expected, context, () => Promise.reject(new Error('no content')));
  return collect(opened.content);
}

describe('a set key that is a handle', () => {
  it('opens what the key opens', async () => {
    expect(Buffer.from(await open(await held(bytes))).equals(content)).toBe(true);
  });

  it('derives the same as the key, however much is asked for', async () => {
    const { handle } = await held(bytes);
    for (const length of [0, 1, 64, 65, 200])
      expect(await hkdfExpand(handle, randomBytes(0), length)).toEqual(await hkdfExpand(bytes, randomBytes(0), length));
    const info = randomBytes(50);
    expect(Buffer.from(await hkdfExpand(handle, info, 150)).equals(await hkdfExpand(bytes, info, 150))).toBe(true);
  });

  it('opens nothing where it is another key, of another set, or of another time', async () => {
    await expect(open(await held(randomBytes(32)))).rejects.toMatchObject({ code: 'payload-invalid' });
    const other = await keyIdOf('set', randomBytes(32));
    await expect(open(await held(bytes, { id: other }))).rejects.toMatchObject({ code: 'key-id-mismatch' });
    await expect(open(await held(bytes, { notAfter: NOW - 1 }))).rejects.toMatchObject({ code: 'key-not-valid-now' });
    await expect(open(undefined)).rejects.toMatchObject({ code: 'key-missing' });
  });
});
