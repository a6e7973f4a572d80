/**
 * Turns a source file into the content of an object: compressed where that helps, and described by its metadata. Small files are held in
 * memory, large ones stream.
 */
import { createGzip, gzipSync, type ZlibOptions } from 'node:zlib';
import { streamOf } from '../../core/encoding/byte-reader.ts';
import type { Metadata } from '../../core/object/metadata.ts';
import { isCompressible, isInGzip, isText, isUtf8Text, withCharset } from '../site/media-type.ts';
import type { SourceFile } from '../site/walk.ts';
import { readPieces, readStart, readWhole } from './source-reader.ts';

export interface ContentOptions {
  readonly source: SourceFile;
  /** Has no parameters. */
  readonly mediaType: string;
  /** Tells whether there may be a content coding; not for public documents, whose content lies as it is at its own URL. */
  readonly compress: boolean;
  /** Memory for the source, if it is large enough; the content may lie in it. */
  readonly memory?: Uint8Array | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface Content {
  readonly metadata: Metadata;
  /** The content, if it is in memory. */
  readonly whole: Uint8Array | undefined;
  /** Yields exactly `metadata.contentLength` bytes, each time. @throws PublishError `source-refused`, out of the stream */
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

/** Bytes of the largest file that is held in memory. */
export const SMALL_FILE = 4 * 1024 * 1024;

const LEAST_COMPRESSED = 512;

const GZIP_START = Buffer.of(0x1f, 0x8b);

/**
 * Options of gzip. Level 4 takes half the time of level 6 for plain prose and four fifths for pages, and makes 1 to 5 % more bytes: for a small
 * document that is less than its head varies by, and gzip takes most of the time of its writing. A larger one has few signatures and files to pay
 * for, and is worth the better level. A window no larger than the document needs less fresh memory: the result is the same, a tenth sooner.
 */
const gzipOptions = ({ length }: Uint8Array): ZlibOptions =>
  length <= 16_384 ? { level: 4, windowBits: 14, memLevel: 7, chunkSize: 4096 } : { level: 6 };
/** Compression has to save a twentieth. */
const WORTHWHILE = 0.95;

/** Reads a document's content; a large one as far as is needed to describe it. @throws PublishError `source-refused` */
export async function readContent(options: ContentOptions): Promise<Content> {
  return options.source.size <= SMALL_FILE ? smallContent(options) : largeContent(options);
}

function smallContent(options: ContentOptions): Content {
  const bytes = readWhole(options.source, options.memory ?? new Uint8Array(0));
  if (isPlain(options)) return inMemory(plainMetadata(options), bytes);
  const utf8 = isText(options.mediaType) && isUtf8Text(bytes);
  const coded = triesGzip(options) ? gzipSync(bytes, gzipOptions(bytes)) : undefined;
  return coded && coded.length <= bytes.length * WORTHWHILE
    ? inMemory(metadataOf(options, utf8, coded.length, 'gzip'), coded)
    : inMemory(metadataOf(options, utf8, bytes.length), bytes);
}

function inMemory(metadata: Metadata, whole: Uint8Array): Content {
  return { metadata, whole, bytes: () => streamOf(whole) };
}

/** Tells whether a document's metadata are known without reading it, and its content is its source as it is. */
export function isPlain(options: ContentOptions): boolean {
  return isCoded(options) || (!isText(options.mediaType) && !triesGzip(options));
}

/** Returns the metadata of a document that {@link isPlain}. */
export function plainMetadata(options: ContentOptions): Metadata {
  return metadataOf(options, false, options.source.size, isCoded(options) ? 'gzip' : undefined);
}

function isCoded({ source, compress }: ContentOptions): boolean {
  return compress && isInGzip(source.path) && Buffer.compare(readStart(source, 2), GZIP_START) === 0;
}

/** The length after compression has to be known before the first block is made: so a large text is compressed twice, and not kept. */
async function largeContent(options: ContentOptions): Promise<Content> {
  const { source } = options;
  if (isPlain(options)) return streamed(plainMetadata(options), () => asynchronous(readPieces(source)));
  const { utf8, coded } = await measure(source, triesGzip(options));
  return coded <= source.size * WORTHWHILE
    ? streamed(metadataOf(options, utf8, coded, 'gzip'), () => gzipStream(readPieces(source)))
    : streamed(metadataOf(options, utf8, source.size), () => asynchronous(readPieces(source)));
}

function streamed(metadata: Metadata, bytes: Content['bytes']): Content {
  return { metadata, whole: undefined, bytes };
}

function triesGzip({ source, mediaType, compress }: ContentOptions): boolean {
  return compress && source.size >= LEAST_COMPRESSED && isCompressible(mediaType);
}

function metadataOf(
  { source, mediaType, headers = {} }: ContentOptions,
  utf8: boolean,
  contentLength: number,
  contentCoding?: 'gzip' | undefined,
): Metadata {
  return {
    contentLength,
    mediaType: withCharset(mediaType, utf8),
    ...(contentCoding && { contentCoding }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(source.lastModified !== undefined && { lastModified: source.lastModified }),
  };
}

/** Finds whether a large file is UTF-8, and its length in gzip. */
async function measure(source: SourceFile, tryGzip: boolean): Promise<{ utf8: boolean; coded: number }> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let utf8 = true;
  const watched = function* () {
    for (const piece of readPieces(source)) {
      utf8 &&= decodes(decoder, piece);
      yield piece;
    }
  };
  let length = 0;
  for await (const piece of tryGzip ? gzipStream(watched()) : watched()) length += piece.length;
  return { utf8: utf8 && decodes(decoder), coded: tryGzip ? length : Number.POSITIVE_INFINITY };
}

function decodes(decoder: TextDecoder, piece?: Uint8Array): boolean {
  try {
    decoder.decode(piece, { stream: piece !== undefined });
    return true;
  } catch {
    return false;
  }
}

async function* gzipStream(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const coder = createGzip();
  const feeding = feed(coder, pieces);
  feeding.catch(() => undefined); // the coder reports its failure
  yield* coder as AsyncIterable<Uint8Array>;
  await feeding;
}

async function feed(coder: ReturnType<typeof createGzip>, pieces: Iterable<Uint8Array>): Promise<void> {
  try {
    for (const piece of pieces) {
      await new Promise<void>((resolve, reject) => coder.write(piece, (error) => (error ? reject(error) : resolve())));
    }
    coder.end();
  } catch (error) {
    coder.destroy(error as Error);
  }
}

async function* asynchronous(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
