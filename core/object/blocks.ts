/** Blocks as they arrive: verification steps 11 and 12 of docs/spec/protected-object.md, which need no key. */
import { checkBlockDigest } from './block-run.ts';
import { ObjectError } from './errors.ts';
import { blockCount, blockRange } from './geometry.ts';
import { digestOfBlock, type Head } from './head.ts';
import { payloadShape } from './header.ts';

/** Source of the blocks of a payload, one after the other: a `ByteReader`, or one with a second source at hand. */
export interface BlockSource {
  /** The next `length` bytes; `undefined` if it ends before. */
  read(length: number): Promise<Uint8Array | undefined>;
  atEnd(): Promise<boolean>;
  /** Blocks that have passed step 12 in memory that they are still in, and that nobody else writes to: they need not pass it again. */
  readonly passed?: Set<number> | undefined;
  /** Called with every verified block, in order. */
  keep?(block: Uint8Array): Promise<void> | undefined;
  /**
   * The block at `offset` of the payload could not be had, or is not the one that was signed: goes on from there with another source.
   *
   * @throws `error`, where there is none
   */
  recover?(offset: number, error: unknown): Promise<void>;
  /**
   * Has blocks opened elsewhere, `first` to `end` (which is not in it): they come in their order, in pieces of one or more whole
   * blocks, each of which has passed steps 11, 12 and 14. `undefined` where they are better read one by one. Block 0 never comes this way.
   */
  openBlocks?(first: number, end: number): AsyncIterable<Uint8Array> | undefined;
}

/**
 * Reads block `index` and takes steps 11 and 12; for encrypted documents the block is still sealed.
 *
 * @param head - as `readHead` returned it
 * @param payload - stands where the block begins
 * @throws ObjectError `object-truncated`, `object-trailing`, `block-digest`
 */
export async function readBlock(head: Head, index: number, payload: BlockSource): Promise<Uint8Array> {
  for (;;) {
    try {
      const block = await readOnce(head, index, payload);
      const keeping = payload.keep?.(block);
      if (keeping) await keeping;
      return block;
    } catch (error) {
      if (payload.recover === undefined) throw error;
      await payload.recover(blockRange(payloadShape(head.header), index).start, error);
    }
  }
}

async function readOnce(head: Head, index: number, payload: BlockSource): Promise<Uint8Array> {
  const shape = payloadShape(head.header);
  const { start, end } = blockRange(shape, index);
  const block = await payload.read(end - start);
  if (block === undefined) throw new ObjectError('object-truncated', `the object ends inside block ${index}`);
  if (index === blockCount(shape) - 1 && !(await payload.atEnd())) {
    throw new ObjectError('object-trailing', 'bytes follow the end of the object');
  }
  if (payload.passed?.has(index)) return block;
  await checkBlockDigest(block, digestOfBlock(head, index), index);
  payload.passed?.add(index);
  return block;
}

/**
 * Takes steps 11 and 12 for a whole payload, for holders of objects without keys: a mirror, `wispr verify`.
 *
 * @param payload - stands where the payload begins
 * @throws ObjectError as {@link readBlock}
 */
export async function verifyBlocks(head: Head, payload: BlockSource): Promise<void> {
  const count = blockCount(payloadShape(head.header));
  for (let index = 0; index < count; index++) await readBlock(head, index, payload);
}
