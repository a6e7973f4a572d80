/**
 * Turns a source file into the content of an object: compressed where that helps, described by its metadata, and checked to be the file
 * that was planned, before and after it is read. Small files are held in memory, large ones stream.
 */
import { type BigIntStats, closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { createGzip, gzip, gzipSync } from 'node:zlib';
import { streamOf } from '../../core/encoding/byte-reader.ts';
import type { Metadata } from '../../core/object/metadata.ts';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { isCompressible, isText, isUtf8Text, withCharset } from '../site/media-type.ts';
import { identityOf, type SourceFile } from '../site/walk.ts';
import { printable } from '../text.ts';

/** The content of one document. */
export interface Content {
  readonly metadata: Metadata;
  /** Exactly `metadata.contentLength` bytes; to be taken once. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Bytes of the largest file that is held in memory. */
export const SMALL_FILE = 4 * 1024 * 1024;

/** Below this, gzip is done in place: handing it to another thread costs more than doing it. */
const QUICK_GZIP = 32 * 1024;
const LEAST_COMPRESSED = 512;
/** Compression has to save a twentieth. */
const WORTHWHILE = 0.95;
const READ_LENGTH = 1024 * 1024;

const gzipInThread = promisify(gzip);

/**
 * Reads a document's content.
 *
 * @param compress - whether gzip may be used; not for public documents, whose content lies as it is at its own URL
 * @throws PublishError `source-unreadable`, `source-changed`; both also out of `bytes`
 */
export async function readContent(source: SourceFile, mediaType: string, compress: boolean): Promise<Content> {
  const tryGzip = compress && source.size >= LEAST_COMPRESSED && isCompressible(mediaType);
  return source.size <= SMALL_FILE
    ? smallContent(source, mediaType, tryGzip)
    : largeContent(source, mediaType, tryGzip);
}

async function smallContent(source: SourceFile, mediaType: string, tryGzip: boolean): Promise<Content> {
  const bytes = readWhole(source);
  const type = withCharset(mediaType, isText(mediaType) && isUtf8Text(bytes));
  if (tryGzip) {
    const coded = bytes.length <= QUICK_GZIP ? gzipSync(bytes) : await gzipInThread(bytes);
    if (coded.length <= bytes.length * WORTHWHILE) {
      return { metadata: metadataOf(source, type, coded.length, 'gzip'), bytes: streamOf(coded) };
    }
  }
  return { metadata: metadataOf(source, type, bytes.length), bytes: streamOf(bytes) };
}

/** The length after compression has to be known before the first block is made: so a large text is compressed twice, and not kept. */
async function largeContent(source: SourceFile, mediaType: string, tryGzip: boolean): Promise<Content> {
  const { utf8, coded } =
    isText(mediaType) || tryGzip ? await measure(source, tryGzip) : { utf8: false, coded: Infinity };
  const type = withCharset(mediaType, utf8);
  if (coded <= source.size * WORTHWHILE) {
    return { metadata: metadataOf(source, type, coded, 'gzip'), bytes: gzipStream(readPieces(source)) };
  }
  return { metadata: metadataOf(source, type, source.size), bytes: readPieces(source) };
}

function metadataOf(source: SourceFile, mediaType: string, contentLength: number, contentCoding?: 'gzip'): Metadata {
  return {
    contentLength,
    mediaType,
    ...(contentCoding && { contentCoding }),
    ...(source.lastModified !== undefined && { lastModified: source.lastModified }),
  };
}

/** Whether a large file is UTF-8, and how long it is in gzip. */
async function measure(source: SourceFile, tryGzip: boolean): Promise<{ utf8: boolean; coded: number }> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let utf8 = true;
  const watched = async function* () {
    for await (const piece of readPieces(source)) {
      utf8 &&= decodes(decoder, piece);
      yield piece;
    }
  };
  let length = 0;
  for await (const piece of tryGzip ? gzipStream(watched()) : watched()) length += piece.length;
  return { utf8: utf8 && decodes(decoder), coded: tryGzip ? length : Infinity };
}

function decodes(decoder: TextDecoder, piece?: Uint8Array): boolean {
  try {
    decoder.decode(piece, { stream: piece !== undefined });
    return true;
  } catch {
    return false;
  }
}

async function* gzipStream(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const coder = createGzip();
  const feeding = feed(coder, pieces);
  feeding.catch(() => undefined); // its failure comes out of the coder
  yield* coder as AsyncIterable<Uint8Array>;
  await feeding;
}

async function feed(coder: ReturnType<typeof createGzip>, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const piece of pieces) {
      await new Promise<void>((resolve, reject) => coder.write(piece, (error) => (error ? reject(error) : resolve())));
    }
    coder.end();
  } catch (error) {
    coder.destroy(error as Error);
  }
}

/** In place: for a small file, handing five calls to another thread and back costs five times what they take. */
function readWhole(source: SourceFile): Buffer {
  const descriptor = fromSourceNow(source, () => openSync(source.file, 'r'));
  try {
    checkIdentity(source, statNow(source, descriptor));
    const bytes = Buffer.allocUnsafeSlow(source.size);
    for (let filled = 0; filled < bytes.length; ) {
      const read = fromSourceNow(source, () => readSync(descriptor, bytes, filled, bytes.length - filled, null));
      if (read === 0) throw changed(source);
      filled += read;
    }
    checkIdentity(source, statNow(source, descriptor));
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}

function statNow(source: SourceFile, descriptor: number): BigIntStats {
  return fromSourceNow(source, () => fstatSync(descriptor, { bigint: true }));
}

/** Reads one piece ahead, so that the disk works while a block is being made. */
async function* readPieces(source: SourceFile): AsyncGenerator<Uint8Array> {
  await using handle = await openUnchanged(source);
  let ahead = readPiece(handle, source, source.size);
  try {
    for (let left = source.size; left > 0; ) {
      const piece = await ahead;
      left -= piece.length;
      ahead = readPiece(handle, source, left);
      ahead.catch(() => undefined); // thrown by the next await
      yield piece;
    }
    await checkUnchanged(handle, source);
  } finally {
    await Promise.allSettled([ahead]); // the file is closed next
  }
}

async function readPiece(handle: FileHandle, source: SourceFile, left: number): Promise<Buffer> {
  const piece = Buffer.allocUnsafeSlow(Math.min(left, READ_LENGTH));
  await fill(handle, piece, source);
  return piece;
}

async function fill(handle: FileHandle, buffer: Buffer, source: SourceFile): Promise<void> {
  for (let filled = 0; filled < buffer.length; ) {
    const { bytesRead } = await fromSource(source, handle.read(buffer, filled, buffer.length - filled, null));
    if (bytesRead === 0) throw changed(source);
    filled += bytesRead;
  }
}

async function openUnchanged(source: SourceFile): Promise<FileHandle> {
  const handle = await fromSource(source, open(source.file));
  try {
    await checkUnchanged(handle, source);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function checkUnchanged(handle: FileHandle, source: SourceFile): Promise<void> {
  checkIdentity(source, await fromSource(source, handle.stat({ bigint: true })));
}

/** Also catches a file that another one took the place of. */
function checkIdentity(source: SourceFile, stats: BigIntStats): void {
  if (identityOf(stats) !== source.identity) throw changed(source);
}

async function fromSource<Result>(source: SourceFile, reading: Promise<Result>): Promise<Result> {
  return reading.catch((error: unknown) => {
    throw unreadable(source, error);
  });
}

function fromSourceNow<Result>(source: SourceFile, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw unreadable(source, error);
  }
}

function unreadable({ path }: SourceFile, error: unknown): PublishError {
  const message = describeUnreadable(printable(path), error);
  return new PublishError('source-unreadable', message, { cause: error });
}

/** A file is not what it was when the plan was made. */
export function changed({ path }: SourceFile): PublishError {
  return new PublishError('source-changed', `${printable(path)} changed while the site was being protected`, {
    hint: 'run "wispr protect" again once the site is complete',
  });
}
