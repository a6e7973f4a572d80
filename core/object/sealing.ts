/**
 * Makes payloads of content, block by block and in any order: what a block is made of depends on nothing that another block holds, so the blocks
 * of a large document can be made on all cores.
 */
import { sealChunks } from '#symmetric';
import type { MessageKeys } from '../crypto/chunked-encryption.ts';
import { concat } from '../encoding/bytes.ts';
import { PREFIX_LENGTH } from '../primitives/contract.ts';
import {
  type ByteRange,
  blockCount,
  blockMessageLength,
  blockRange,
  messageLength,
  type PayloadShape,
} from './geometry.ts';

/** Everything that the making of a block needs besides its content. Plain data; holds the keys of one message. */
export interface SealingPlan {
  readonly shape: PayloadShape;
  readonly contentLength: number;
  /** Bytes before the content in the message; empty for signed documents. */
  readonly front: Uint8Array;
  /** `undefined` for signed documents. */
  readonly message: { readonly keys: MessageKeys; readonly prefix: Uint8Array } | undefined;
}

/** Bytes of block `index`, once it is made. */
export function sealedBlockLength({ shape }: SealingPlan, index: number): number {
  const { start, end } = blockRange(shape, index);
  return end - start;
}

/** The part of the content that block `index` is made of; empty where it holds nothing but padding. */
export function contentOfBlock(plan: SealingPlan, index: number): ByteRange {
  const { start, end } = messageRange(plan, index);
  const within = (offset: number) => Math.min(plan.contentLength, Math.max(0, offset - plan.front.length));
  return { start: within(start), end: within(end) };
}

/**
 * @param content - exactly the bytes that {@link contentOfBlock} names; a signed document's block is these bytes themselves
 * @param target - memory for the block, at least {@link sealedBlockLength}; fresh memory if left out
 * @throws RangeError if the content has another length
 */
export async function sealBlock(
  plan: SealingPlan,
  index: number,
  content: Uint8Array,
  target?: Uint8Array,
): Promise<Uint8Array> {
  const { start, end } = contentOfBlock(plan, index);
  if (content.length !== end - start) throw new RangeError('a block is made of another length of content');
  if (plan.message === undefined) return content;
  const { keys, prefix } = plan.message;
  const length = sealedBlockLength(plan, index);
  const block = target === undefined ? new Uint8Array(length) : target.subarray(0, length);
  const offset = index === 0 ? PREFIX_LENGTH : 0;
  if (index === 0) block.set(prefix);
  const last = index === blockCount(plan.shape) - 1;
  const plain = messageOfBlock(plan, index, content);
  await sealChunks(keys, index * plan.shape.blockChunks, plain, last, block.subarray(offset));
  return block;
}

/** The front before the content, and the padding behind it, where they fall into this block. */
function messageOfBlock(plan: SealingPlan, index: number, content: Uint8Array): Uint8Array {
  const { start, end } = messageRange(plan, index);
  if (content.length === end - start) return content;
  const front = plan.front.subarray(start, Math.min(end, plan.front.length));
  return concat(front, content, new Uint8Array(end - start - front.length - content.length));
}

/** The part of the message that block `index` holds. */
function messageRange({ shape }: SealingPlan, index: number): ByteRange {
  const full = blockMessageLength(shape);
  return { start: index * full, end: Math.min((index + 1) * full, messageLength(shape)) };
}
