/**
 * Opens a document that the publication of a bound site names: which URLs a content host is asked for, and what is done with
 * the answers. Shared by all readers; the caller supplies sockets and keys.
 */
import { ByteReader } from '../core/encoding/byte-reader.ts';
import { openCarrier } from '../core/object/carrier.ts';
import { DocumentReader, type OpenedDocument, type ReadingContext } from '../core/object/document-reader.ts';
import type { ByteRange } from '../core/object/geometry.ts';
import { openDocument } from '../core/object/open-document.ts';
import { type Expectation, readHead } from '../core/object/read-head.ts';
import type { DocumentEntry } from '../core/publication/document-entry.ts';
import { contentTargetOf, headTargetOf, targetUrlPath } from '../core/publication/names.ts';
import { urlPathOf } from '../core/site/path.ts';
import { ReadingError } from './errors.ts';

/** Answer of a content host. Its headers are not looked at: nothing in them is signed. */
export interface HostAnswer {
  readonly status: number;
  /** The body. The caller reads it to the end or calls `return()` on its iterator, which frees the connection. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Asks for a whole URL path, as `urlPathOf` spells it; no redirect. @throws ReadingError `content-host-unreachable` */
export type FetchContent = (urlPath: string) => Promise<HostAnswer>;

/** The same for a range of it; a host may give the whole all the same. */
export type FetchContentRange = (urlPath: string, range?: ByteRange) => Promise<HostAnswer>;

/** A document that the reader wants, and what the publication says about it. */
export interface WantedDocument extends Omit<Expectation, 'pin'> {
  readonly entry: DocumentEntry;
}

/**
 * Fetches and opens a document. The head is compared with the publication before anything in it is looked at; whatever the content host
 * says in its status or its headers, nothing else is shown.
 *
 * @throws ReadingError `object-missing`, `content-host-answer`, `content-host-unreachable`;
 * ObjectError as `openDocument` does
 */
export async function openAt(
  fetchContent: FetchContent,
  wanted: WantedDocument,
  context: ReadingContext,
): Promise<OpenedDocument> {
  const { path, entry } = wanted;
  const expected = expectationOf(wanted);
  const body = await bodyOf(await fetchContent(objectUrl(path, entry)), `the protected object of ${path}`);
  return openDocument(entry.inPage ? openCarrier(body) : body, expected, context, async () =>
    bodyOf(await fetchContent(payloadUrl(path, entry)), `the content of the signed document ${path}`),
  );
}

/** Returns what the publication says of the head, for callers that have the object already. */
export function expectationOf(wanted: WantedDocument): Expectation {
  const { head, headLength, set, inBin } = wanted.entry;
  return { ...wanted, pin: { sha256: head, length: headLength, set, inBin } };
}

/** Fetches the head alone, and of an encrypted document the first block, which has its metadata. @throws as `openAt` */
export async function describeAt(
  fetchRange: FetchContentRange,
  wanted: WantedDocument,
  context: ReadingContext,
): Promise<DocumentReader> {
  const { path, entry } = wanted;
  if (entry.inPage) return (await openAt(fetchRange, wanted, context)).reader; // parts of a page are not parts of the object
  const url = objectUrl(path, entry);
  const what = `the protected object of ${path}`;
  const answer = await fetchRange(url, { start: 0, end: entry.headLength });
  const input = new ByteReader(await bodyOf(answer, what, true));
  const reader = await DocumentReader.create(await readHead(input, expectationOf(wanted)), context);
  if (entry.set === undefined || answer.status === 200) {
    if (entry.set !== undefined) await reader.open(input);
    await input.cancel();
    return reader;
  }
  const { start, end } = reader.firstBlock;
  const first = await fetchRange(url, { start: entry.headLength + start, end: entry.headLength + end });
  const payload = new ByteReader(await bodyOf(first, what, true));
  if (first.status === 200) await payload.read(entry.headLength);
  await reader.open(payload);
  await payload.cancel();
  return reader;
}

/** The URL path of the file that begins with a document's head. */
export function objectUrl(path: string, { head, inPage }: DocumentEntry): string {
  return inPage ? urlPathOf(path) : targetUrlPath(headTargetOf(path), head);
}

/** The URL path of the file with a document's payload: behind its head, or, of public documents, by itself. */
export function payloadUrl(path: string, entry: DocumentEntry): string {
  return entry.content === undefined ? objectUrl(path, entry) : targetUrlPath(contentTargetOf(path), entry.content);
}

async function bodyOf(answer: HostAnswer, what: string, partial = false): Promise<AsyncIterable<Uint8Array>> {
  if (answer.status === 200 || (partial && answer.status === 206)) return answer.body;
  await answer.body[Symbol.asyncIterator]().return?.();
  if (answer.status === 404 || answer.status === 410)
    throw new ReadingError('object-missing', `the content host does not have ${what}`);
  throw new ReadingError('content-host-answer', `the content host answered ${answer.status} when asked for ${what}`);
}
