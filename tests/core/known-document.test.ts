/** A head that has passed once need not be checked again for the same bytes; anything else is checked as if nothing were known. */
import { expect, it } from 'vitest';
import { collect } from '../../core/encoding/byte-reader.ts';
import { toHex } from '../../core/encoding/hex.ts';
import type { CachedDocument } from '../../core/object/document-reader.ts';
import { headBytes, headDigest } from '../../core/object/head.ts';
import { openDocument } from '../../core/object/open-document.ts';
import { encodeObject } from '../../core/object/writer.ts';
import { key, publisher, set } from '../support/own-objects.ts';

const expected = { site: 'news.example', path: '/a.html', publisherKey: publisher.publicKey };

function encode(text: string, path = '/a.html'): Promise<Uint8Array> {
  const content = Buffer.from(text);
  const metadata = { contentLength: content.length, mediaType: 'text/plain' };
  return encodeObject({ site: 'news.example', path, publisher, metadata, set }, content);
}

async function* inPieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += length) yield bytes.subarray(start, start + length);
}

const open = (object: Uint8Array, options: { known?: CachedDocument; now?: number; pieces?: number } = {}) =>
  openDocument(
    inPieces(object, options.pieces ?? object.length),
    expected,
    { findKey: async () => ({ key, notBefore: 0, notAfter: 10 }), now: options.now ?? 5, known: options.known },
    () => Promise.reject(new Error('encrypted documents are one file')),
  );

const object = await encode('first version');
const { reader } = await open(object);
const known: CachedDocument = {
  reader,
  headBytes: headBytes(reader.head),
  headHash: toHex(await headDigest(reader.head)),
};

it('the same object opens with what is known, however it arrives', async () => {
  for (const pieces of [1, 7, 64, object.length]) {
    const opened = await open(object, { known, pieces });
    expect(opened.reader).toBe(reader);
    expect(Buffer.from(await collect(opened.content)).toString()).toBe('first version');
  }
});

it('another version is opened anew', async () => {
  const opened = await open(await encode('second version, which is longer'), { known });
  expect(opened.reader).not.toBe(reader);
  expect(Buffer.from(await collect(opened.content)).toString()).toBe('second version, which is longer');
});

it('every check still counts', async () => {
  const changed = (offset: number) => object.map((byte, index) => (index === offset ? byte ^ 1 : byte));
  await expect(open(changed(object.length - 1), { known })).rejects.toMatchObject({ code: 'block-digest' });
  await expect(open(changed(known.headBytes.length - 1), { known })).rejects.toMatchObject({ code: 'block-digest' });
  await expect(open(await encode('elsewhere', '/b.html'), { known })).rejects.toMatchObject({ code: 'path-mismatch' });
  await expect(open(object, { known, now: 11 })).rejects.toMatchObject({ code: 'key-not-valid-now' });
  for (const length of [0, 20, known.headBytes.length - 1])
    await expect(open(object.subarray(0, length), { known })).rejects.toMatchObject({
      code: expect.stringMatching(/^object-(?:truncated|unrecognised)$/),
    });
});
