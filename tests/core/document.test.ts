import { describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { collect, streamOf } from '../../core/encoding/byte-reader.ts';
import { openDocument } from '../../core/object/open-document.ts';
import { encodeObject, publisherIdentity } from '../../core/object/writer.ts';

const publisher = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
const key = randomBytes(32);
const set = { id: await keyIdOf('set', key), key };

async function roundTrip(length: number, encrypted: boolean): Promise<boolean> {
  const content = randomBytes(length);
  const object = await encodeObject(
    {
      site: 'news.example',
      path: '/a/é.html',
      publisher,
      metadata: { contentLength: length, mediaType: 'text/html; charset=utf-8' },
      ...(encrypted ? { set } : {}),
    },
    content,
  );
  const opened = await openDocument(
    streamOf(object),
    { site: 'news.example', path: '/a/é.html', publisherKey: publisher.publicKey },
    { findKey: async () => ({ key, notBefore: 0, notAfter: 10 }), now: 5 },
    async () => streamOf(content),
  );
  return Buffer.from(await collect(opened.content)).equals(content);
}

describe('a document', () => {
  const metadataFront = 4 + '{"contentLength":16384,"mediaType":"text/html; charset=utf-8"}'.length;
  const sizes = [0, 1, 16_383, 16_384, 16_385, 16_384 - metadataFront, 65_536 - metadataFront, 65_536, 65_537, 300_000];

  it.each(sizes)('of %i bytes comes back byte for byte, encrypted', async (size) => {
    expect(await roundTrip(size, true)).toBe(true);
  });

  it.each(sizes)('of %i bytes comes back byte for byte, signed only', async (size) => {
    expect(await roundTrip(size, false)).toBe(true);
  });
});
