/** Blocks made one by one, in any order, make the object that a reader opens. */
import { describe, expect, it } from 'vitest';
import { randomBytes, sha256 } from '#primitives';
import { collect, streamOf } from '../../core/encoding/byte-reader.ts';
import { concatAll } from '../../core/encoding/bytes.ts';
import { blockCount } from '../../core/object/geometry.ts';
import { openDocument } from '../../core/object/open-document.ts';
import { contentOfBlock, sealBlock, sealedBlockLength } from '../../core/object/sealing.ts';
import { ObjectWriter } from '../../core/object/writer.ts';
import { key, publisher, set } from '../support/own-objects.ts';

function writerOf(contentLength: number, paddingLength: number | 'padme', encrypted: boolean): ObjectWriter {
  return new ObjectWriter({
    site: 'news.example',
    path: '/a.bin',
    publisher,
    metadata: { contentLength, mediaType: 'application/octet-stream' },
    ...(encrypted && { set, paddingLength }),
  });
}

const SIZES = [0, 1, 65_000, 65_460, 65_461, 65_536, 131_072, 300_000];
const PADDINGS = [0, 1, 65_536, 200_000, 'padme'] as const;
const cases = SIZES.flatMap((size) => PADDINGS.map((padding) => ({ size, padding })));

describe('blocks in any order', () => {
  it.each(cases)('$size bytes and padding of $padding', async ({ size, padding }) => {
    for (const encrypted of [true, false]) {
      const content = randomBytes(size);
      const writer = writerOf(size, padding, encrypted);
      const plan = structuredClone(await writer.plan()); // plans may come from another thread
      const memory = new Uint8Array(100_000).fill(255);
      const blocks: Uint8Array[] = [];
      const digests: Uint8Array[] = [];
      for (let index = blockCount(plan.shape) - 1; index >= 0; index--) {
        const { start, end } = contentOfBlock(plan, index);
        const block = await sealBlock(plan, index, content.subarray(start, end), memory);
        expect(block.length).toBe(sealedBlockLength(plan, index));
        blocks[index] = block.slice();
        digests[index] = await sha256(block);
      }
      const head = await writer.head(concatAll(digests));
      expect(head.length).toBe(writer.headLength);
      const opened = await openDocument(
        encrypted ? streamOf(head, ...blocks) : streamOf(head),
        { site: 'news.example', path: '/a.bin', publisherKey: publisher.publicKey },
        { findKey: async () => ({ key, notBefore: 0, notAfter: 1 }), now: 0 },
        async () => streamOf(...blocks),
      );
      expect(Buffer.from(await collect(opened.content)).equals(content)).toBe(true);
    }
  });

  it('of another length of content are refused', async () => {
    const plan = await writerOf(70_000, 0, true).plan();
    await expect(sealBlock(plan, 1, new Uint8Array(1))).rejects.toThrow(RangeError);
    await expect(writerOf(5, 0, true).encode(new Uint8Array(6))).rejects.toThrow(RangeError);
  });

  it('belong to a head with a digest of each', async () => {
    await expect(writerOf(70_000, 0, true).head(new Uint8Array(32))).rejects.toThrow('after the blocks');
  });
});
