/**
 * How a reader of a bound site gets one document that the publication names: which URLs it asks a content host for, and what it does with
 * the answers. Shared by every door (proxy, gateway, reading site); the caller brings the sockets and the keys.
 */

import { openCarrier } from '../object/carrier.ts';
import { type OpenedDocument, openDocument, type ReadingContext } from '../object/document-reader.ts';
import type { Expectation } from '../object/head.ts';
import type { DocumentEntry } from '../publication/document-entry.ts';
import { contentTargetOf, headTargetOf, targetUrlPath } from '../publication/names.ts';
import { urlPathOf } from '../site/path.ts';
import { ReadingError } from './errors.ts';

/** What a content host answered. Its headers are not looked at: nothing in them is signed. */
export interface ContentAnswer {
  readonly status: number;
  /** The body. Whoever gets it takes it to the end or calls `return()` on its iterator, which frees the connection. */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Asks the content host for the whole of one URL path, in the spelling of `urlPathOf`. Follows no redirect.
 *
 * @throws ReadingError `content-host-unreachable`
 */
export type FetchContent = (urlPath: string) => Promise<ContentAnswer>;

/** A document that the reader wants, and what the publication says about it. */
export interface WantedDocument extends Omit<Expectation, 'pin'> {
  readonly entry: DocumentEntry;
}

/**
 * Fetches and opens a document. The head is compared with the publication before anything in it is looked at; whatever the content host
 * says in its status or its headers, nothing else is shown.
 *
 * @throws ReadingError `object-missing`, `content-host-answer`, `content-host-unreachable`; PublicationError `head-unexpected`;
 * ObjectError as `openDocument` does
 */
export async function openAt(
  fetchContent: FetchContent,
  wanted: WantedDocument,
  context: ReadingContext,
): Promise<OpenedDocument> {
  const { path, entry } = wanted;
  const expected = { ...wanted, pin: { sha256: entry.head, length: entry.headLength, set: entry.set } };
  const body = await bodyOf(await fetchContent(objectUrl(path, entry)), `the protected object of ${path}`);
  return openDocument(entry.inPage ? openCarrier(body) : body, expected, context, async () =>
    bodyOf(await fetchContent(payloadUrl(path, entry)), `the content of the signed document ${path}`),
  );
}

/** The URL path of the file that begins with a document's head. */
function objectUrl(path: string, { head, inPage }: DocumentEntry): string {
  return inPage ? urlPathOf(path) : targetUrlPath(headTargetOf(path), head);
}

/** The URL path of the file with a document's payload: behind its head, or, of public documents, by itself. */
export function payloadUrl(path: string, entry: DocumentEntry): string {
  return entry.content === undefined ? objectUrl(path, entry) : targetUrlPath(contentTargetOf(path), entry.content);
}

async function bodyOf(answer: ContentAnswer, what: string): Promise<AsyncIterable<Uint8Array>> {
  if (answer.status === 200) return answer.body;
  await answer.body[Symbol.asyncIterator]().return?.();
  if (answer.status === 404 || answer.status === 410)
    throw new ReadingError('object-missing', `the content host does not have ${what}`);
  throw new ReadingError('content-host-answer', `the content host answered ${answer.status} when asked for ${what}`);
}
