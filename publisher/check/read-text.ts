/** Reads texts for `wispr check`, compressed ones too. */
import { closeSync, openSync, readSync } from 'node:fs';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { systemReason } from '../../node-support/system-error.ts';
import { isCompressible, isText } from '../site/media-type.ts';
import type { SourceFile } from '../site/walk.ts';

/** Bytes of a text that are looked at. */
const TEXT_LENGTH = 8 * 1024 * 1024;
/** Bytes that show whether a file of an unknown type is text. */
const START = 4096;
/** Types of compressed files, and of files with names that say nothing, as search indexes have. Others may be text that is compressible. */
const UNSURE = /^application\/(?:octet-stream|(?:x-)?gzip|zstd)$/;

export type CheckedFile = Pick<SourceFile, 'file' | 'path' | 'size'>;

export interface Start {
  readonly bytes: Buffer;
  readonly cut: boolean;
}

/** @returns `undefined` for what is no text; or why it cannot be read */
export function readText({ path, file, size }: CheckedFile, mediaType: string): Start | string | undefined {
  if (!isCompressible(mediaType) && !UNSURE.test(mediaType)) return undefined;
  try {
    const descriptor = openSync(file, 'r');
    try {
      const isKnown = isText(mediaType);
      const unpack = isKnown ? undefined : unpackerOf(path, readStart(descriptor, Math.min(size, START)));
      if (unpack === 'binary') return undefined;
      const bytes = readStart(descriptor, Math.min(size, TEXT_LENGTH));
      return unpack
        ? unpacked(() => unpack(bytes, { maxOutputLength: TEXT_LENGTH }))
        : { bytes, cut: size > bytes.length };
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return `it cannot be read: ${systemReason(error)}`;
  }
}

type Unpack = (bytes: Buffer, options: { maxOutputLength: number }) => Buffer;

/** Finds what makes a text of a file of an unsure type, if it is none itself. */
function unpackerOf(path: string, start: Buffer): Unpack | 'binary' | undefined {
  const magic = start.toString('hex', 0, 4);
  if (magic.startsWith('1f8b')) return gunzipSync;
  if (magic === '28b52ffd') return zstdDecompressSync;
  if (path.endsWith('.br')) return brotliDecompressSync;
  return start.includes(0) ? 'binary' : undefined;
}

/** Unpacks a text; one that cannot be, or is too long then, is not looked at. */
function unpacked(unpack: () => Buffer): Start {
  try {
    return { bytes: unpack(), cut: false };
  } catch {
    return { bytes: Buffer.of(), cut: true };
  }
}

function readStart(descriptor: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  for (let read = -1; filled < length && read !== 0; filled += read)
    read = readSync(descriptor, bytes, filled, length - filled, filled);
  return bytes.subarray(0, filled);
}
