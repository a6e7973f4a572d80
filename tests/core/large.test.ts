/** An object whose chunk counter needs three bytes: a gigabyte, made and read in one stream and never held. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { CHUNK_LENGTH, ed25519KeyPair, randomBytes } from '#primitives';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { openDocument } from '../../core/object/open-document.ts';
import { type ObjectOptions, ObjectWriter, publisherIdentity } from '../../core/object/writer.ts';

const CHUNKS = 65_537;
const PIECE = Buffer.from(randomBytes(CHUNK_LENGTH * 64));

/** The content: the same random piece again and again, each time under another number. */
async function* content(length: number): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < length; offset += PIECE.length) {
    PIECE.writeUInt32BE(offset / PIECE.length);
    yield PIECE.subarray(0, Math.min(PIECE.length, length - offset));
  }
}

it('attack 13: 65,537 chunks are carried past two bytes of the chunk counter', { timeout: 300_000 }, async () => {
  const publisher = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
  const key = randomBytes(32);
  const contentLength = (CHUNKS - 1) * CHUNK_LENGTH + 1000;
  const options: ObjectOptions = {
    site: 'news.example',
    path: '/film.mp4',
    publisher,
    metadata: { contentLength, mediaType: 'video/mp4' },
    set: { id: await keyIdOf('set', key), key },
    saltForVectors: randomBytes(24), // the object is made twice: for its head, and to be read
  };
  const first = new ObjectWriter(options);
  const written = createHash('sha256');
  for await (const piece of content(contentLength)) written.update(piece);
  for await (const _ of first.blocks(content(contentLength)));
  const head = await first.head();

  const opened = await openDocument(
    (async function* () {
      yield head;
      yield* new ObjectWriter(options).blocks(content(contentLength));
    })(),
    { site: options.site, path: options.path, publisherKey: publisher.publicKey },
    { findKey: async () => ({ key, notBefore: 0, notAfter: 1 }), now: 0 },
    () => Promise.reject(new Error('an encrypted document has no other content')),
  );
  const read = createHash('sha256');
  for await (const piece of opened.content) read.update(piece);
  expect(Math.ceil((first.payloadLength - 56) / 16_400)).toBe(CHUNKS);
  expect(read.digest('hex')).toBe(written.digest('hex'));
});
