/** The record layer, RFC 5246 section 6.2.1: `type (1) || version (2) || length (2) || content`. */
import { LIMITS } from '../limits.ts';
import { number } from './cursor.ts';

export const CONTENT = { changeCipherSpec: 20, alert: 21, handshake: 22, applicationData: 23 } as const;

/** The version field of TLS 1.2. */
export const TLS12 = 0x0303;

const HEADER = 5;

export interface TlsRecord {
  readonly type: number;
  readonly version: number;
  readonly content: Buffer;
  /** Record with its header, as it came. */
  readonly bytes: Buffer;
}

/** @param content - at most `LIMITS.record` bytes */
export function writeRecord(version: number, content: Buffer): Buffer {
  return Buffer.concat([number(CONTENT.handshake, 1), number(version, 2), number(content.length, 2), content]);
}

/** Splits a stream into records, however it arrives; holds no more than one record and what came with it. */
export class RecordReader {
  #chunks: Buffer[] = [];
  #length = 0;
  /** Bytes that must be there before it is worth looking. */
  #needed = HEADER;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  /** @returns the next record; `more` where it is not whole yet; `foreign` where no record of TLS begins */
  next(): TlsRecord | 'more' | 'foreign' {
    if (this.#length === 0) return 'more';
    if (this.#length < this.#needed) return this.#startsLikeTls() ? 'more' : 'foreign';
    const all = this.#joined();
    const [type, version, length] = [all.readUInt8(0), all.readUInt16BE(1), all.readUInt16BE(3)];
    if (!isPlausible(type, version, length)) return 'foreign';
    this.#needed = HEADER + length;
    if (all.length < this.#needed) return 'more';
    const bytes = all.subarray(0, this.#needed);
    this.#chunks = [all.subarray(this.#needed)];
    this.#length -= this.#needed;
    this.#needed = HEADER;
    return { type, version, content: bytes.subarray(HEADER), bytes };
  }

  /** Bytes behind the last complete record. */
  rest(): Buffer {
    const all = this.#joined();
    this.#chunks = [];
    this.#length = 0;
    return all;
  }

  /** Tells whether this may be TLS: another protocol, whose first message may be shorter than a header, is not held. */
  #startsLikeTls(): boolean {
    const [type = 0, major = 3] = this.#chunks.find((chunk) => chunk.length > 0) ?? [];
    return isPlausible(type, major << 8, 1);
  }

  #joined(): Buffer {
    const [only] = this.#chunks;
    const all = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all;
  }
}

function isPlausible(type: number, version: number, length: number): boolean {
  const isKnown = type >= CONTENT.changeCipherSpec && type <= CONTENT.applicationData;
  return isKnown && version >> 8 === 3 && length > 0 && length <= LIMITS.encryptedRecord;
}
