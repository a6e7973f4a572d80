/**
 * Opens blocks, in any order: what a block is opened with depends on nothing that another block holds, so the blocks of a
 * large document can be opened elsewhere than where the document is read. The counterpart of sealing.ts.
 */
import { openChunks, sha256 } from '#symmetric';
import { equalBytes } from '../encoding/bytes.ts';
import { type ChunkKeys, PREFIX_LENGTH } from '../primitives/contract.ts';
import { ObjectError } from './errors.ts';
import { blockCount, type PayloadShape } from './geometry.ts';

const DIGEST_LENGTH = 32;

/** Consecutive blocks of one payload, and all that opening them needs besides their bytes. Plain data; holds the keys of one message. */
export interface BlockRun {
  readonly shape: PayloadShape;
  /** Blocks `first` to `end` (which is not in it). */
  readonly first: number;
  readonly end: number;
  /** The digests that these blocks must have, one behind the other. */
  readonly digests: Uint8Array;
  /** `undefined` for signed documents. */
  readonly keys: ChunkKeys | undefined;
}

/** Step 12 for block `index`. @throws ObjectError `block-digest` */
export async function checkBlockDigest(block: Uint8Array, digest: Uint8Array, index: number): Promise<void> {
  if (!equalBytes(await sha256(block), digest))
    throw new ObjectError('block-digest', `block ${index} is not the one that the publisher signed`);
}

/**
 * Step 14 for block `index`, which has passed step 12.
 *
 * @param target - memory for the message, at least as long as the block; fresh memory if left out
 * @returns the block's part of the message; a signed document's is the block itself
 * @throws ObjectError `payload-invalid`
 */
export async function decryptBlock(
  { shape, keys }: Pick<BlockRun, 'shape' | 'keys'>,
  index: number,
  block: Uint8Array,
  target?: Uint8Array,
): Promise<Uint8Array> {
  if (keys === undefined) return block;
  const last = index === blockCount(shape) - 1;
  const chunks = index === 0 ? block.subarray(PREFIX_LENGTH) : block;
  const message = await openChunks(keys, index * shape.blockChunks, chunks, last, target);
  if (message === undefined) throw new ObjectError('payload-invalid', `block ${index} does not decrypt`);
  return message;
}

/**
 * Steps 12 and 14 for block `index` of a run.
 *
 * @param block - exactly as long as the block
 * @throws ObjectError `block-digest`, `payload-invalid`
 */
export async function openBlock(
  run: BlockRun,
  index: number,
  block: Uint8Array,
  target?: Uint8Array,
): Promise<Uint8Array> {
  const offset = (index - run.first) * DIGEST_LENGTH;
  await checkBlockDigest(block, run.digests.subarray(offset, offset + DIGEST_LENGTH), index);
  return decryptBlock(run, index, block, target);
}
