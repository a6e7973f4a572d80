/** Messages whose exact length does not show: `length: u32 || message || zeros`, as long as Padmé says, and at least as long as most are. */
import { concat, equalBytes, readU32, u32 } from '../encoding/bytes.ts';
import { PREFIX_LENGTH, sealedChunkLengths, TAG_LENGTH } from '../primitives/contract.ts';
import { padmeLength } from './padding.ts';

/** @param least - bytes of the shortest result */
export function padMessage(message: Uint8Array, least: number): Uint8Array {
  const length = paddedLength(4 + message.length, least);
  return concat(u32(message.length), message, new Uint8Array(length - 4 - message.length));
}

/** Undoes {@link padMessage}; `undefined` for what it does not make. */
export function unpadMessage(padded: Uint8Array, least: number): Uint8Array | undefined {
  if (padded.length < 4) return undefined;
  const length = readU32(padded);
  const message = padded.subarray(4, 4 + length);
  return message.length === length && equalBytes(padMessage(message, least), padded) ? message : undefined;
}

/** Tells whether a padded message can have this length once it is encrypted by itself (chunked-encryption.ts). */
export function isSealedPadded(sealedLength: number, least: number): boolean {
  const sealed = sealedChunkLengths(sealedLength - PREFIX_LENGTH, true);
  const length = sealed?.reduce((total, chunk) => total + chunk - TAG_LENGTH, 0);
  return length !== undefined && length === paddedLength(length, least);
}

function paddedLength(length: number, least: number): number {
  return Math.max(least, padmeLength(length));
}
