/** Writes one document on one thread. */
import { createHash } from 'node:crypto';
import { collect } from '../../../core/encoding/byte-reader.ts';
import { utf8 } from '../../../core/encoding/bytes.ts';
import { hexDigest } from '../../../core/encoding/digest.ts';
import { encodeHtmlCarrier } from '../../../core/object/carrier.ts';
import type { Metadata } from '../../../core/object/metadata.ts';
import { ObjectWriter } from '../../../core/object/writer.ts';
import { type ContentOptions, readContent } from '../content.ts';
import { changed } from '../source-reader.ts';
import { contentFile, createFile, objectFile, shownFile, stagedFile, TemporaryFile } from './files.ts';
import { type ThreadContext, type ThreadData, type WriteTask, type WrittenDocument, written } from './jobs.ts';
import type { Writing } from './reuse.ts';

export function contentOptions({ source, mediaType, compress, set, headers }: WriteTask): ContentOptions {
  return { source, mediaType, compress: compress && set !== undefined, headers };
}

/** Makes the writer of a document's object. @throws Error if there is no key for its set */
export function objectWriterOf(task: WriteTask, metadata: Metadata, thread: ThreadData): ObjectWriter {
  const { path, set, padding } = task;
  const { site, publisher } = thread;
  if (set === undefined) return new ObjectWriter({ site, path, publisher, metadata });
  const key = thread.sets.get(set);
  if (key === undefined) throw new Error('the writers were not given the key of this set');
  const paddingLength = padding ? { paddingLength: 'padme' as const } : {};
  return new ObjectWriter({ site, path, publisher, metadata, set: { id: set, key }, ...paddingLength });
}

/** Writes a document, unless its previous object is what would be written. */
export async function writeDocument(task: WriteTask, context: ThreadContext): Promise<WrittenDocument> {
  const writing = await beginWriting(task, context);
  return (await reuseIfPossible(writing)) ?? writeAnew(writing);
}

/**
 * Returns the answer for a document whose previous object is kept; `undefined` if there is none that could be. The code that verifies objects
 * is loaded for the first of them: on a new site, no thread needs libsodium, which takes 25 ms and as many MiB on each.
 */
export async function reuseIfPossible(writing: Writing): Promise<WrittenDocument | undefined> {
  if (writing.task.previous === undefined) return undefined;
  const { reuseDocument } = await import('./reuse.ts');
  return reuseDocument(writing, writing.task.previous);
}

/** Reads the content, as far as is needed to describe it. */
export async function beginWriting(task: WriteTask, context: ThreadContext): Promise<Writing> {
  context.checkNotStopped();
  const content = await readContent({ ...contentOptions(task), memory: context.memory.source() });
  return { task, content, writer: objectWriterOf(task, content.metadata, context), context };
}

function writeAnew(writing: Writing): Promise<WrittenDocument> {
  const { task, content } = writing;
  if (task.set === undefined) return writeSigned(writing);
  if (task.carrier === 'html') return stageCarrier(writing);
  return content.whole ? writeSmall(writing, content.whole) : writeStream(writing);
}

async function writeSmall({ task, writer, context }: Writing, content: Uint8Array): Promise<WrittenDocument> {
  const object = await writer.encode(content, context.memory.object());
  const head = object.subarray(0, writer.headLength);
  const digest = await hexDigest(head);
  createFile(objectFile(context.out, task.path, digest), shownFile(context.out, task), object);
  return written({ digest, length: head.length }, { bytesOut: object.length });
}

async function writeStream(writing: Writing): Promise<WrittenDocument> {
  const { task, writer, context } = writing;
  using file = new TemporaryFile(shownFile(context.out, task));
  await writeBlocks(writing, file, writer.headLength);
  return await keepObject(writing, file, await writer.head()); // awaited: the file is closed next
}

/** Puts the head in front of a payload, and gives the object its name. */
export async function keepObject(
  { task, writer, context }: Pick<Writing, 'task' | 'writer'> & { readonly context: { readonly out: string } },
  file: TemporaryFile,
  head: Uint8Array,
): Promise<WrittenDocument> {
  file.write(head, 0);
  const digest = await hexDigest(head);
  file.keepAs(objectFile(context.out, task.path, digest));
  return written({ digest, length: head.length }, { bytesOut: head.length + writer.payloadLength });
}

/** Writes the content as it is, and its head beside it. */
async function writeSigned(writing: Writing): Promise<WrittenDocument> {
  const { task, content, writer, context } = writing;
  if (!content.whole) return writeSignedStream(writing);
  const digest = await hexDigest(content.whole);
  // The head first: where a kill cuts the content short, the head beside it says that it is ours.
  const result = await keepHead(writing, await writer.encode(content.whole), digest);
  const file = contentFile(context.out, task.path, digest);
  createFile(file, shownFile(context.out, task), content.whole, task.source.lastModified);
  return result;
}

async function writeSignedStream(writing: Writing): Promise<WrittenDocument> {
  const { task, writer, context } = writing;
  using file = new TemporaryFile(shownFile(context.out, task));
  const digest = await writeBlocks(writing, file, 0);
  file.keepAs(contentFile(context.out, task.path, digest), task.source.lastModified);
  return await keepHead(writing, await writer.head(), digest); // awaited: the file is closed next
}

/** @param content - the digest of what the head is beside */
async function keepHead(
  { task, writer, context }: Writing,
  head: Uint8Array,
  content: string,
): Promise<WrittenDocument> {
  const digest = await hexDigest(head);
  createFile(objectFile(context.out, task.path, digest), shownFile(context.out, task), head);
  return written(
    { digest, length: head.length },
    { content, contentLength: writer.payloadLength, bytesOut: head.length + writer.payloadLength },
  );
}

/** Writes object and fallback page to one file, which waits to be placed. */
async function stageCarrier({ task, content, writer, context }: Writing): Promise<WrittenDocument> {
  const bytes = content.whole ?? (await collect(content.bytes()));
  if (bytes.length !== content.metadata.contentLength) throw changed(task.source);
  const object = await writer.encode(bytes);
  const head = object.subarray(0, writer.headLength);
  const digest = await hexDigest(head);
  const carrier = encodeHtmlCarrier(object, utf8(task.fallbackPage ?? ''));
  createFile(stagedFile(context.out, task.path, digest), shownFile(context.out, task), carrier);
  return written({ digest, length: head.length }, { bytesOut: carrier.length, staged: true });
}

/** Writes a payload that streams; returns its digest. */
async function writeBlocks(
  { task, content, writer, context }: Writing,
  file: TemporaryFile,
  offset: number,
): Promise<string> {
  const hash = task.set === undefined ? createHash('sha256') : undefined;
  let position = offset;
  try {
    for await (const block of writer.blocks(content.bytes())) {
      context.checkNotStopped();
      hash?.update(block);
      file.write(block, position);
      position += block.length;
    }
  } catch (error) {
    throw error instanceof RangeError ? changed(task.source) : error; // the length may show it first
  }
  return hash?.digest('hex') ?? '';
}
