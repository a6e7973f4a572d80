/** Blocks as they arrive: verification steps 11 and 12 of docs/spec/protected-object.md, which anybody can take without a key. */
import { sha256 } from '#primitives';
import type { ByteReader } from '../encoding/byte-reader.ts';
import { equalBytes } from '../encoding/bytes.ts';
import { ObjectError } from './errors.ts';
import { blockCount, blockRange } from './geometry.ts';
import { digestOfBlock, type Head } from './head.ts';
import { payloadShape } from './header.ts';

/**
 * Reads block `index` and takes steps 11 and 12; for encrypted documents the block is still sealed.
 *
 * @param head - as `readHead` returned it
 * @param payload - stands where the block begins
 * @throws ObjectError `object-truncated`, `object-trailing`, `block-digest`
 */
export async function readBlock(head: Head, index: number, payload: ByteReader): Promise<Uint8Array> {
  const shape = payloadShape(head.header);
  const { start, end } = blockRange(shape, index);
  const block = await payload.read(end - start);
  if (block === undefined) throw new ObjectError('object-truncated', `the object ends inside block ${index}`);
  if (index === blockCount(shape) - 1 && !(await payload.atEnd())) {
    throw new ObjectError('object-trailing', 'bytes follow the end of the object');
  }
  if (!equalBytes(await sha256(block), digestOfBlock(head, index))) {
    throw new ObjectError('block-digest', `block ${index} is not the one that the publisher signed`);
  }
  return block;
}

/**
 * Takes steps 11 and 12 for a whole payload, for whoever holds objects without keys: a mirror, `wispr verify`.
 *
 * @param payload - stands where the payload begins
 * @throws ObjectError as {@link readBlock}
 */
export async function verifyBlocks(head: Head, payload: ByteReader): Promise<void> {
  const count = blockCount(payloadShape(head.header));
  for (let index = 0; index < count; index++) await readBlock(head, index, payload);
}
