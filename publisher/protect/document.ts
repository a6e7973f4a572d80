/** Writes one document into the output: its object, its fallback page, or itself with a signed head. */
import { type FileHandle, mkdir, open, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { collect } from '../../core/encoding/byte-reader.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import type { KeyId } from '../../core/keys/key-id.ts';
import { encodeHtmlCarrier } from '../../core/object/carrier.ts';
import { ObjectWriter, type PublisherIdentity } from '../../core/object/writer.ts';
import { OBJECT_SUFFIX } from '../../core/site/path.ts';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { type FallbackSettings, fallbackPageOf } from '../fallback-page.ts';
import { renderFallbackPage } from '../fallback-template.ts';
import type { SourceFile } from '../site/walk.ts';
import { printable } from '../text.ts';
import { type Content, changed, readContent, SMALL_FILE } from './content.ts';
import type { PlannedDocument } from './plan.ts';

/** What all documents of a run share. */
export interface WritingContext {
  /** The directory that is written. */
  readonly out: string;
  /** Throws if the run is to stop; asked for every document, and for every block. */
  readonly checkNotStopped: () => void;
  readonly site: string;
  readonly publisher: PublisherIdentity;
  readonly carrier: 'beside' | 'html';
  readonly fallback: FallbackSettings;
  readonly keyOf: (set: string) => { readonly id: KeyId; readonly key: Uint8Array };
}

/**
 * Writes one document.
 *
 * @returns bytes written
 * @throws PublishError `source-unreadable`, `source-changed`, `output-failed`
 */
export async function writeDocument(document: PlannedDocument, context: WritingContext): Promise<number> {
  const { source, mediaType, set } = document;
  context.checkNotStopped();
  const content = await readContent(source, mediaType, set !== undefined);
  const writer = new ObjectWriter({
    site: context.site,
    path: source.path,
    publisher: context.publisher,
    metadata: content.metadata,
    ...(set !== undefined && { set: context.keyOf(set) }),
  });
  if (set === undefined) return writeSigned(document, writer, content, context);
  return document.teaser && context.carrier === 'html'
    ? writeHtmlCarrier(document, writer, content, context)
    : writeBeside(document, writer, content, context);
}

/** The content as it is, and its head beside it. */
async function writeSigned(
  { source }: PlannedDocument,
  writer: ObjectWriter,
  content: Content,
  context: WritingContext,
): Promise<number> {
  const file = join(context.out, source.path);
  await writePayload(file, writer, fromContent(source, writer, content, context), 0);
  // Hosts and caches make their validators from it.
  if (source.lastModified !== undefined) await toOutput(file, utimes(file, source.lastModified, source.lastModified));
  const head = await writer.head();
  await put(file + OBJECT_SUFFIX, head);
  return writer.payloadLength + head.length;
}

/** The object, and a page's fallback page in the page's own place. */
async function writeBeside(
  document: PlannedDocument,
  writer: ObjectWriter,
  content: Content,
  context: WritingContext,
): Promise<number> {
  const file = join(context.out, document.source.path);
  const blocks = fromContent(document.source, writer, content, context);
  await writePayload(file + OBJECT_SUFFIX, writer, blocks, writer.headLength);
  const length = writer.headLength + writer.payloadLength;
  const page = fallbackOf(document, context);
  if (page === undefined) return length;
  await put(file, page);
  return length + page.length;
}

/** Object and fallback page in one file. */
async function writeHtmlCarrier(
  document: PlannedDocument,
  writer: ObjectWriter,
  content: Content,
  context: WritingContext,
): Promise<number> {
  const blocks = await collect(fromContent(document.source, writer, content, context));
  const object = Buffer.concat([await writer.head(), blocks]);
  const carrier = encodeHtmlCarrier(object, fallbackOf(document, context) ?? new Uint8Array(0));
  await put(join(context.out, document.source.path), carrier);
  return carrier.length;
}

function fallbackOf({ source, teaser }: PlannedDocument, { fallback }: WritingContext): Uint8Array | undefined {
  return teaser && utf8(renderFallbackPage(fallbackPageOf(source.path, teaser, fallback)));
}

/**
 * Writes a payload, block by block where it is large.
 *
 * @param headLength - bytes that are left free for the head, which is written last; 0 if there is none in this file
 */
async function writePayload(
  file: string,
  writer: ObjectWriter,
  blocks: AsyncIterable<Uint8Array>,
  headLength: number,
): Promise<void> {
  if (writer.payloadLength <= SMALL_FILE) {
    const payload = await collect(blocks);
    return put(file, headLength > 0 ? Buffer.concat([await writer.head(), payload]) : payload);
  }
  await using handle = await toOutput(file, open(file, 'wx'));
  let position = headLength;
  let behind: Promise<void> = Promise.resolve(); // one block is written while the next is made
  try {
    for await (const block of blocks) {
      await behind;
      behind = toOutput(file, writeAt(handle, block, position));
      behind.catch(() => undefined); // thrown by the next await
      position += block.length;
    }
    await behind;
  } finally {
    await Promise.allSettled([behind]); // the file is closed next
  }
  if (headLength > 0) await toOutput(file, writeAt(handle, await writer.head(), 0));
}

/** The system may write less than it is given. */
async function writeAt(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await handle.write(bytes, written, bytes.length - written, position + written)).bytesWritten;
  }
}

/** A file that changes while it streams may show first in its length. */
async function* fromContent(
  source: SourceFile,
  writer: ObjectWriter,
  content: Content,
  { checkNotStopped }: WritingContext,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const block of writer.blocks(content.bytes)) {
      checkNotStopped();
      yield block;
    }
  } catch (error) {
    throw error instanceof RangeError ? changed(source) : error;
  }
}

/** Writes a file that must not be there yet: on a file system that takes two spellings for one name, the second is refused. */
async function put(file: string, bytes: Uint8Array): Promise<void> {
  await toOutput(file, writeFile(file, bytes, { flag: 'wx' }));
}

/** Makes the directories of the documents. */
export async function makeDirectories(out: string, directories: Iterable<string>): Promise<void> {
  for (const directory of [...directories].sort()) {
    await toOutput(directory, mkdir(join(out, directory), { recursive: true }));
  }
}

/** @throws PublishError `output-failed` in place of the system's error */
export async function toOutput<Result>(file: string, writing: Promise<Result>): Promise<Result> {
  try {
    return await writing;
  } catch (error) {
    const message = `cannot write ${printable(file)}: ${systemReason(error)}; what was there before is unchanged`;
    throw new PublishError('output-failed', message, { cause: error, ...hintFor(error, file) });
  }
}

function hintFor(error: unknown, file: string): { hint?: string } {
  switch (systemCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return { hint: 'the new output is written beside the old one: there has to be room for both' };
    case 'EEXIST':
      return { hint: 'this file system does not tell two names of your site apart; rename one' };
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return { hint: `make ${dirname(dirname(file))} writable, or choose another "out"` };
    default:
      return {};
  }
}
