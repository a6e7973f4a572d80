/** How a reader gets the payload of a document that it knows, and opens what it has kept. Shared by the readers that keep objects. */
import { ByteReader } from '../core/encoding/byte-reader.ts';
import { CodedError } from '../core/errors.ts';
import type { BlockSource } from '../core/object/blocks.ts';
import type { DocumentReader, OpenedDocument, ReadingContext } from '../core/object/document-reader.ts';
import type { ByteRange } from '../core/object/geometry.ts';
import { isEncrypted } from '../core/object/header.ts';
import { openDocument } from '../core/object/open-document.ts';
import { ReadingError } from './errors.ts';
import { faultOf } from './host-faults.ts';
import { expectationOf, type FetchContentRange, payloadUrl, type WantedDocument } from './open-at.ts';

const SKIPPED_AT_ONCE = 65_536;

/**
 * The payload from the beginning of `range`, once its first bytes are there; where the content host ignores the range, what is before it is skipped.
 *
 * @throws ReadingError `content-host-answer` where the host answers neither with a range nor with the whole, or the payload is not a file of
 * bytes; those of `fetchRange`
 */
export async function payloadAt(
  fetchRange: FetchContentRange,
  { path, entry }: Pick<WantedDocument, 'entry' | 'path'>,
  { head }: DocumentReader,
  range: ByteRange,
): Promise<ByteReader> {
  const encrypted = isEncrypted(head.header);
  if (encrypted && entry.inPage) throw unusable('the object stands in a page as text');
  const offset = encrypted ? head.length : 0; // a signed document's payload is a file of its own
  const wanted = { start: offset + range.start, end: offset + range.end };
  const { status, body } = await fetchRange(payloadUrl(path, entry), wanted);
  if (status !== 200 && status !== 206) {
    await body[Symbol.asyncIterator]().return?.();
    throw unusable(`the content host answered ${status} when asked for a part of ${path}`);
  }
  const bytes = new ByteReader(body);
  if (status === 200) await skip(bytes, wanted.start);
  await bytes.atEnd();
  return bytes;
}

/** An object that was kept whole: head, then payload. */
export interface KeptObject {
  /** From a byte on, up to another. */
  from(start: number, end?: number): AsyncIterable<Uint8Array>;
}

/**
 * Opens an object that was kept.
 *
 * @returns `undefined` where it is damaged
 * @throws what has nothing to do with its bytes: the key, and the like
 */
export async function openKept(
  kept: KeptObject,
  wanted: WantedDocument,
  context: ReadingContext,
): Promise<OpenedDocument | undefined> {
  const { set, headLength } = wanted.entry;
  const object = set === undefined ? kept.from(0, headLength) : kept.from(0);
  try {
    return await openDocument(object, expectationOf(wanted), context, async () => kept.from(headLength));
  } catch (error) {
    if (error instanceof CodedError && faultOf(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * Opens a document whose blocks come through a payload, and gives both.
 *
 * @param open - with the supply of its context; `undefined` is handed on
 */
export async function withPayload<Payload extends BlockSource>(
  payloadOf: (reader: DocumentReader, bytes: ByteReader) => Payload,
  open: (supply: NonNullable<ReadingContext['supply']>) => Promise<OpenedDocument | undefined>,
): Promise<(OpenedDocument & { readonly payload: Payload }) | undefined> {
  let payload: Payload | undefined;
  const opened = await open((reader, bytes) => {
    payload = payloadOf(reader, bytes);
    return payload;
  });
  return opened && { ...opened, payload: payload as Payload };
}

async function skip(bytes: ByteReader, length: number): Promise<void> {
  for (let left = length; left > 0; left -= SKIPPED_AT_ONCE) {
    if ((await bytes.read(Math.min(left, SKIPPED_AT_ONCE))) === undefined) return; // the blocks' checks say what is missing
  }
}

function unusable(message: string): ReadingError {
  return new ReadingError('content-host-answer', message);
}
