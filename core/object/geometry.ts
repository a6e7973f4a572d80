/** Places of the blocks and chunks of a payload: docs/spec/protected-object.md, "Blocks". All lengths and offsets in bytes. */
import { CHUNK_LENGTH, PREFIX_LENGTH, SEALED_CHUNK_LENGTH, TAG_LENGTH } from '../primitives/contract.ts';
import { LIMITS } from './limits.ts';

export interface PayloadShape {
  readonly encrypted: boolean;
  readonly payloadLength: number;
  readonly blockChunks: number;
}

/** A range of bytes: `start` is in it, `end` is not. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Tells whether a payload can have this shape, and stays within the limits. */
export function isPossibleShape(shape: PayloadShape): boolean {
  const { encrypted, payloadLength, blockChunks } = shape;
  if (!Number.isSafeInteger(payloadLength) || payloadLength < 0) return false;
  if (!Number.isSafeInteger(blockChunks) || blockChunks < 1 || blockChunks > LIMITS.blockChunks) return false;
  if (encrypted && payloadLength < PREFIX_LENGTH + TAG_LENGTH) return false;
  if (encrypted && (payloadLength - PREFIX_LENGTH) % SEALED_CHUNK_LENGTH < TAG_LENGTH) return false;
  return blockCount(shape) <= LIMITS.blocks;
}

/** The number of blocks, *n*. */
export function blockCount(shape: PayloadShape): number {
  return Math.max(1, Math.ceil((shape.payloadLength - prefixLength(shape)) / fullBlockLength(shape)));
}

/** Returns where block `index` lies in the payload. */
export function blockRange(shape: PayloadShape, index: number): ByteRange {
  const prefix = prefixLength(shape);
  const start = index === 0 ? 0 : prefix + index * fullBlockLength(shape);
  return { start, end: Math.min(shape.payloadLength, prefix + (index + 1) * fullBlockLength(shape)) };
}

/** The length of the message in an encrypted payload, or of a signed payload. */
export function messageLength(shape: PayloadShape): number {
  if (!shape.encrypted) return shape.payloadLength;
  const sealed = shape.payloadLength - PREFIX_LENGTH;
  return sealed - (Math.floor(sealed / SEALED_CHUNK_LENGTH) + 1) * TAG_LENGTH;
}

/** The length of the payload that encrypts a message of `length` bytes. */
export function encryptedPayloadLength(length: number): number {
  return PREFIX_LENGTH + length + (Math.floor(length / CHUNK_LENGTH) + 1) * TAG_LENGTH;
}

/** Bytes of message in every block but the last. */
export function blockMessageLength(shape: PayloadShape): number {
  return shape.blockChunks * CHUNK_LENGTH;
}

/** The number of chunks in a block that this project's publisher chooses: the spec, "Blocks". */
export function chooseBlockChunks(payloadLength: number): number {
  const MiB = 1024 * 1024;
  if (payloadLength < 16 * MiB) return 4;
  if (payloadLength < 256 * MiB) return 16;
  return payloadLength < 16 * 1024 * MiB ? 64 : 1024;
}

function prefixLength(shape: PayloadShape): number {
  return shape.encrypted ? PREFIX_LENGTH : 0;
}

function fullBlockLength(shape: PayloadShape): number {
  return shape.blockChunks * (shape.encrypted ? SEALED_CHUNK_LENGTH : CHUNK_LENGTH);
}
