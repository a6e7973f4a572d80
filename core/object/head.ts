/**
 * The head of a protected object, everything before the payload: docs/spec/protected-object.md, "Byte layout".
 *
 *   "wispr/1\n" (8) || H: u32 || header (H) || Ed25519 signature (64) || block digests (32 n)
 */
import { ed25519Sign } from '#signing';
import { sha256 } from '#symmetric';
import { concat, concatAll, u32, utf8 } from '../encoding/bytes.ts';
import type { Header } from './header.ts';
import { LIMITS } from './limits.ts';

export const MAGIC = utf8('wispr/1\n');
export const SIGNATURE_LABEL = utf8('wispr/1 protected object\n');
export const SIGNATURE_LENGTH = 64;
export const DIGEST_LENGTH = 32;

/** A head whose form is right. Whether it may be believed is another matter: see read-head.ts. */
export interface Head {
  readonly header: Header;
  /** The bytes that are signed. */
  readonly headerBytes: Uint8Array;
  readonly signature: Uint8Array;
  /** The block digests, 32 bytes each. */
  readonly digests: Uint8Array;
  /** Bytes before the payload. */
  readonly length: number;
  /** Bytes as they came, and their SHA-256, where they were compared with a publication. */
  readonly pinned?: { readonly bytes: Uint8Array; readonly digest: Uint8Array };
}

/** The length of the head that belongs to a header of `headerLength` bytes, known before its digests are. */
export function headLength(headerLength: number, blocks: number): number {
  return MAGIC.length + 4 + headerLength + SIGNATURE_LENGTH + DIGEST_LENGTH * blocks;
}

/**
 * Signs an encoded header, and puts the head together.
 *
 * @param target - memory for the head, as long as it; fresh memory if left out
 * @throws RangeError if the header is longer than the format allows
 */
export function encodeHead(
  headerBytes: Uint8Array,
  digests: Uint8Array,
  publisherSecretKey: Uint8Array,
  target?: Uint8Array,
): Uint8Array {
  if (headerBytes.length > LIMITS.headerLength) throw new RangeError('the header is longer than 65,536 bytes');
  const signature = ed25519Sign(concat(SIGNATURE_LABEL, headerBytes), publisherSecretKey);
  return concatAll([MAGIC, u32(headerBytes.length), headerBytes, signature, digests], target);
}

export function headBytes({ headerBytes, signature, digests, pinned }: Head): Uint8Array {
  return pinned?.bytes ?? concat(MAGIC, u32(headerBytes.length), headerBytes, signature, digests);
}

/** SHA-256 of the head as it stands in the object: what a publication will pin, and what makes a strong validator. */
export async function headDigest(head: Head): Promise<Uint8Array> {
  return head.pinned?.digest ?? sha256(headBytes(head));
}

export function digestOfBlock(head: Head, index: number): Uint8Array {
  return digestsOfBlocks(head, index, index + 1);
}

/** The digests of blocks `first` to `end` (which is not in it), one behind the other. */
export function digestsOfBlocks({ digests }: Head, first: number, end: number): Uint8Array {
  return digests.subarray(first * DIGEST_LENGTH, end * DIGEST_LENGTH);
}
