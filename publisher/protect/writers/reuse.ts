/**
 * Tells whether the object that was written for a document before is still exactly what would be written now. No digest of a plaintext is kept
 * anywhere: so the old object is verified and opened as a reader would, and compared with the source, byte by byte. The time of the source alone
 * does not count.
 */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { ByteReader, collect, streamOf } from '../../../core/encoding/byte-reader.ts';
import { equalBytes, utf8 } from '../../../core/encoding/bytes.ts';
import { canonicalJson, type JsonObject } from '../../../core/encoding/canonical-json.ts';
import { hexDigest } from '../../../core/encoding/digest.ts';
import { encodeHtmlCarrier, isHtmlCarrier, openCarrier } from '../../../core/object/carrier.ts';
import { DocumentReader } from '../../../core/object/document-reader.ts';
import { ObjectError } from '../../../core/object/errors.ts';
import { type Head, headBytes } from '../../../core/object/head.ts';
import { type Header, isEncrypted } from '../../../core/object/header.ts';
import type { Metadata } from '../../../core/object/metadata.ts';
import { readHead } from '../../../core/object/read-head.ts';
import type { ObjectWriter } from '../../../core/object/writer.ts';
import { systemCode } from '../../../node-support/system-error.ts';
import type { Content } from '../content.ts';
import { contentFile, createFile, objectFile, shownFile, stagedFile } from './files.ts';
import { type ThreadContext, type WriteTask, type WrittenDocument, written } from './jobs.ts';

export interface Writing {
  readonly task: WriteTask;
  readonly content: Content;
  readonly writer: ObjectWriter;
  readonly context: ThreadContext;
}

const READ_LENGTH = 1024 * 1024;

/**
 * Returns the answer for a document whose previous object is kept; `undefined` if it is not what would be written.
 *
 * @param previous - the digest of its head
 */
export function reuseDocument(writing: Writing, previous: string): Promise<WrittenDocument | undefined> {
  const { set, carrier } = writing.task;
  const reuse = set === undefined ? reuseSigned : carrier === 'html' ? reuseCarrier : reuseObject;
  return reuse(writing, previous).catch(unlessUnusable);
}

/** The old object, or a part of it, is not what would be written. */
class Unusable extends Error {}

async function reuseObject(writing: Writing, previous: string): Promise<WrittenDocument> {
  const { task, writer, context } = writing;
  const head = await compare(writing, previous, piecesOf(objectFile(context.out, task.path, previous)));
  return reused(writing, head, { bytesOut: head.length + writer.payloadLength });
}

async function reuseSigned(writing: Writing, previous: string): Promise<WrittenDocument> {
  const { task, writer, content, context } = writing;
  const digest = await digestOf(content);
  const file = contentFile(context.out, task.path, digest);
  const head = await compare(writing, previous, piecesOf(objectFile(context.out, task.path, previous)), () =>
    piecesOf(file),
  );
  const bytesOut = head.length + writer.payloadLength;
  return reused(writing, head, { content: digest, contentLength: writer.payloadLength, bytesOut });
}

/** Reuses the page that lies at the document's place, or the one that an interrupted run left waiting, perhaps around another fallback page. */
async function reuseCarrier(writing: Writing, previous: string): Promise<WrittenDocument | undefined> {
  const { task, context } = writing;
  const staged = stagedFile(context.out, task.path, previous);
  for (const file of [join(context.out, task.path), staged]) {
    const page = await collect(piecesOf(file)).catch(unlessUnusable);
    if (page === undefined || !isHtmlCarrier(page)) continue;
    const object = await collect(openCarrier(streamOf(page)));
    const head = await compare(writing, previous, streamOf(object)).catch(unlessUnusable);
    if (head === undefined) continue;
    const wanted = encodeHtmlCarrier(object, utf8(task.fallbackPage ?? ''));
    const isWanted = equal(page, wanted);
    if (!isWanted) createFile(staged, shownFile(context.out, task), wanted);
    return reused(writing, head, { bytesOut: wanted.length, staged: file === staged || !isWanted });
  }
  return undefined;
}

function unlessUnusable(error: unknown): undefined {
  if (error instanceof Unusable || error instanceof ObjectError) return undefined;
  throw error;
}

function reused({ task }: Writing, head: Head, rest: Parameters<typeof written>[1]): WrittenDocument {
  return written({ digest: task.previous ?? '', length: head.length }, { ...rest, reused: true });
}

/**
 * Verifies and opens an object, and compares it with what would be written.
 *
 * @param content - a signed document's content
 * @throws Unusable, ObjectError
 */
async function compare(
  { task, content, writer, context }: Writing,
  previous: string,
  object: AsyncIterable<Uint8Array>,
  fetchContent = () => streamOf(),
): Promise<Head> {
  const { site, publisher, sets } = context;
  const input = new ByteReader(object);
  const head = await readHead(input, { site, path: task.path, publisherKey: publisher.publicKey });
  const header = withTimeOf(content.metadata, head.header);
  if ((await hexDigest(headBytes(head))) !== previous || !writer.describes(header)) throw new Unusable();
  const encrypted = isEncrypted(head.header);
  if (!encrypted && !(await input.atEnd())) throw new Unusable();
  const findKey = async (id: string) => {
    const key = sets.get(id);
    return key && { key, notBefore: 0, notAfter: 0 };
  };
  const reader = await DocumentReader.create(head, { findKey, now: 0 });
  const opened = await reader.open(encrypted ? input : new ByteReader(fetchContent()));
  if (!sameMetadata(opened.metadata, content.metadata)) throw new Unusable();
  await compareContent(opened.content, content, context.checkNotStopped);
  return head;
}

/** Keeps the object of a source that was only touched, and the time in it: a generator may write the same file every day. */
function withTimeOf({ lastModified }: Metadata, header: Header): Header {
  if (isEncrypted(header) || lastModified === undefined) return header;
  return { ...header, metadata: { ...header.metadata, lastModified } };
}

function sameMetadata(one: Metadata, other: Metadata): boolean {
  const [first, second] = [one, other].map((each) =>
    canonicalJson({ ...each, lastModified: 0 } as unknown as JsonObject),
  );
  return first !== undefined && second !== undefined && equalBytes(first, second);
}

/** @throws Unusable at the first piece that differs */
async function compareContent(
  old: AsyncIterable<Uint8Array>,
  content: Content,
  checkNotStopped: () => void,
): Promise<void> {
  const now = new ByteReader(content.bytes());
  try {
    for await (const piece of old) {
      checkNotStopped();
      const other = await now.read(piece.length);
      if (other === undefined || !equal(piece, other)) throw new Unusable();
    }
    if (!(await now.atEnd())) throw new Unusable();
  } finally {
    await now.cancel();
  }
}

/** Compares more bytes than `equalBytes` is made for. */
function equal(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

async function digestOf(content: Content): Promise<string> {
  if (content.whole) return hexDigest(content.whole);
  const hash = createHash('sha256');
  for await (const piece of content.bytes()) hash.update(piece);
  return hash.digest('hex');
}

/** Reads a file of the output in pieces. @throws Unusable if it is not there, or cannot be read */
async function* piecesOf(file: string): AsyncGenerator<Uint8Array> {
  const descriptor = attempt(() => openSync(file, 'r'));
  try {
    const { size } = attempt(() => fstatSync(descriptor));
    for (let position = 0; position < size; ) {
      const piece = Buffer.allocUnsafeSlow(Math.min(READ_LENGTH, size - position));
      const length = attempt(() => readSync(descriptor, piece));
      if (length === 0) return;
      position += length;
      yield piece.subarray(0, length);
    }
  } finally {
    closeSync(descriptor);
  }
}

function attempt<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw systemCode(error) === undefined ? error : new Unusable();
  }
}
