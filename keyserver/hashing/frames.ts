/**
 * What key servers of a cluster say to their dispatcher, and it to them, inside TLS:
 *
 *   frame = u32 length of the rest || u8 kind || body
 *
 *   1 offer   u32 works at a time                                   to the dispatcher, first of all, once
 *   2 ask     u32 id || u8 length of address || address || work     to the dispatcher
 *   3 do      u32 id || work                                        from the dispatcher
 *   4 done    u32 id || hash (32)                                   answers `ask` and `do`
 *   5 busy    u32 id                                                answers `ask`: try again later
 *   6 failed  u32 id                                                answers `ask` and `do`: it was not done
 *   7 alive                                                         every few seconds
 *
 *   work = u32 memory (KiB) || u32 passes || u32 parallelism || salt (16) || password in UTF-8
 *
 * Each side numbers what it asks of the other.
 */
import { concat, fromUtf8, readU32, u32, utf8 } from '../../core/encoding/bytes.ts';
import { ARGON2ID_LENGTH, ARGON2ID_SALT_LENGTH } from '../../node-support/argon2id.ts';
import { isAllowedCost } from './hashing.ts';
import type { HashingWork } from './threads.ts';

/** Bytes of the longest frame, without its length. Passwords have 1,024 bytes at most: `MAXIMUM_PASSWORD_BYTES`. */
export const LONGEST_FRAME = 16_384;
/** Bytes of an address in which a work waits for its turn. */
const LONGEST_ADDRESS = 64;
const KINDS = ['offer', 'ask', 'do', 'done', 'busy', 'failed', 'alive'] as const;
const WORK_HEAD = 12 + ARGON2ID_SALT_LENGTH;
const MOST_OFFERED = 1024;

export type Frame =
  | { readonly kind: 'offer'; readonly places: number }
  | { readonly kind: 'ask'; readonly id: number; readonly address: string; readonly work: HashingWork }
  | { readonly kind: 'do'; readonly id: number; readonly work: HashingWork }
  | { readonly kind: 'done'; readonly id: number; readonly hash: Uint8Array }
  | { readonly kind: 'busy' | 'failed'; readonly id: number }
  | { readonly kind: 'alive' };

/** A frame as it is sent; `undefined` where it, or the address in it, would be too long. */
export function encodeFrame(frame: Frame): Uint8Array | undefined {
  if (frame.kind === 'ask' && utf8(frame.address).length > LONGEST_ADDRESS) return undefined;
  const body = concat(Uint8Array.of(KINDS.indexOf(frame.kind) + 1), bodyOf(frame));
  return body.length > LONGEST_FRAME ? undefined : concat(u32(body.length), body);
}

function bodyOf(frame: Frame): Uint8Array {
  switch (frame.kind) {
    case 'offer':
      return u32(frame.places);
    case 'ask': {
      const address = utf8(frame.address);
      return concat(u32(frame.id), Uint8Array.of(address.length), address, encodeWork(frame.work));
    }
    case 'do':
      return concat(u32(frame.id), encodeWork(frame.work));
    case 'done':
      return concat(u32(frame.id), frame.hash);
    case 'alive':
      return new Uint8Array(0);
    default:
      return u32(frame.id);
  }
}

function encodeWork({ typed, cost, salt }: HashingWork): Uint8Array {
  return concat(u32(cost.memory), u32(cost.passes), u32(cost.parallelism), salt, utf8(typed));
}

/** Takes a stream of bytes apart. */
export class FrameReader {
  #rest: Uint8Array = new Uint8Array(0);

  /**
   * The frames that are whole with these bytes. What is left over is never longer than a frame.
   *
   * @returns `undefined` at the end for what is no frame: nothing after it can be read
   */
  *read(bytes: Uint8Array): Generator<Frame | undefined> {
    let rest = concat(this.#rest, bytes);
    while (rest.length >= 4) {
      const length = readU32(rest);
      if (length === 0 || length > LONGEST_FRAME) return yield undefined;
      if (rest.length < 4 + length) break;
      const frame = decodeFrame(rest.subarray(4, 4 + length));
      yield frame;
      if (frame === undefined) return;
      rest = rest.subarray(4 + length);
    }
    this.#rest = rest.slice();
  }
}

function decodeFrame(bytes: Uint8Array): Frame | undefined {
  const [kind, body] = [KINDS[(bytes[0] ?? 0) - 1], bytes.subarray(1)];
  if (kind === 'alive') return body.length === 0 ? { kind } : undefined;
  if (kind === undefined || body.length < 4) return undefined;
  const [id, rest] = [readU32(body), body.subarray(4)];
  switch (kind) {
    case 'offer':
      return rest.length === 0 && id <= MOST_OFFERED ? { kind, places: id } : undefined;
    case 'ask':
      return decodeAsk(id, rest);
    case 'do': {
      const work = decodeWork(rest);
      return work && { kind, id, work };
    }
    case 'done':
      return rest.length === ARGON2ID_LENGTH ? { kind, id, hash: rest.slice() } : undefined;
    default:
      return rest.length === 0 ? { kind, id } : undefined;
  }
}

function decodeAsk(id: number, bytes: Uint8Array): Frame | undefined {
  const length = bytes[0] ?? 0;
  if (length > LONGEST_ADDRESS || bytes.length < 1 + length) return undefined;
  const address = fromUtf8(bytes.subarray(1, 1 + length));
  const work = decodeWork(bytes.subarray(1 + length));
  return address !== undefined && work ? { kind: 'ask', id, address, work } : undefined;
}

function decodeWork(bytes: Uint8Array): HashingWork | undefined {
  if (bytes.length < WORK_HEAD) return undefined;
  const cost = { memory: readU32(bytes), passes: readU32(bytes, 4), parallelism: readU32(bytes, 8) };
  const typed = fromUtf8(bytes.subarray(WORK_HEAD));
  return typed !== undefined && isAllowedCost(cost) ? { typed, cost, salt: bytes.slice(12, WORK_HEAD) } : undefined;
}
