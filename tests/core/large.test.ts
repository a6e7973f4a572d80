/** An object whose chunk counter needs three bytes: of its gigabyte, the first block and the last two are made and read. */
import { createDecipheriv } from 'node:crypto';
import { expect, it } from 'vitest';
import { CHUNK_LENGTH, randomBytes, sha256 } from '#primitives';
import type { MessageKeys } from '../../core/crypto/chunked-encryption.ts';
import { ByteReader, collect, streamOf } from '../../core/encoding/byte-reader.ts';
import { blockCount, blockRange } from '../../core/object/geometry.ts';
import { openDocument } from '../../core/object/open-document.ts';
import { contentOfBlock, sealBlock } from '../../core/object/sealing.ts';
import { ObjectWriter } from '../../core/object/writer.ts';

import { key, publisher, set } from '../support/own-objects.ts';

const CHUNKS = 65_537;

it('attack 13: 65,537 chunks are carried past two bytes of the chunk counter', async () => {
  const metadata = { contentLength: (CHUNKS - 1) * CHUNK_LENGTH + 1000, mediaType: 'video/mp4' };
  const expected = { site: 'news.example', path: '/film.mp4', publisherKey: publisher.publicKey };
  const writer = new ObjectWriter({ ...expected, publisher, metadata, set });
  const plan = await writer.plan();
  const last = blockCount(plan.shape) - 1;
  const content = randomBytes(2 * plan.shape.blockChunks * CHUNK_LENGTH);
  const digests = new Uint8Array(32 * (last + 1));
  const make = async (index: number) => {
    const { start, end } = contentOfBlock(plan, index);
    const block = await sealBlock(plan, index, content.subarray(0, end - start));
    digests.set(await sha256(block), 32 * index);
    return block;
  };
  const [first, lastButOne, end] = [await make(0), await make(last - 1), await make(last)];

  const { reader, content: beginning } = await openDocument(
    streamOf(await writer.head(digests), first),
    expected,
    { findKey: async () => ({ key, notBefore: 0, notAfter: 1 }), now: 0 },
    () => Promise.reject(new Error('an encrypted document has no other content')),
  );
  await beginning.return(undefined);
  const range = { start: contentOfBlock(plan, last - 1).start, end: metadata.contentLength };
  expect(reader.payloadRange(range)).toEqual({
    start: blockRange(plan.shape, last - 1).start,
    end: writer.payloadLength,
  });
  const read = await collect(reader.contentRange(range, new ByteReader(streamOf(lastButOne, end))));
  const { start: border } = contentOfBlock(plan, last);
  const lengths = [border - range.start, metadata.contentLength - border];
  expect(Buffer.concat(lengths.map((length) => content.subarray(0, length))).equals(read)).toBe(true);

  expect([last * plan.shape.blockChunks, Math.ceil((writer.payloadLength - 56) / 16_400)]).toEqual([65_536, CHUNKS]);
  expect(openByNonce(plan.message?.keys, end).equals(content.subarray(0, end.length - 16))).toBe(true);
});

/** Opens chunk 65,536 with the nonce that the specification wants: writer and reader could carry wrongly in the same way. */
function openByNonce(keys: MessageKeys | undefined, chunk: Uint8Array): Buffer {
  const nonce = Buffer.from(keys?.baseNonce ?? []);
  nonce.writeUInt8(nonce.readUInt8(9) ^ 1, 9);
  const decipher = createDecipheriv('aes-256-gcm', keys?.key ?? '', nonce).setAuthTag(chunk.subarray(-16));
  return Buffer.concat([decipher.update(chunk.subarray(0, -16)), decipher.final()]);
}
