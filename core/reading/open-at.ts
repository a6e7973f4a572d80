/**
 * How a reader of a bound site gets one document: which URLs it asks a content host for, and what it does with the answers. Shared by
 * every door (proxy, gateway, reading site); the caller brings the sockets and the keys.
 */

import { openCarrier } from '../object/carrier.ts';
import { type OpenedDocument, openDocument, type ReadingContext } from '../object/document-reader.ts';
import type { Expectation } from '../object/head.ts';
import { objectUrlPathOf, urlPathOf } from '../site/path.ts';
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

/**
 * Fetches and opens a document.
 *
 * Asks for the object beside the document; where the host has none, for the document itself, which may be an HTML carrier. Anything
 * that is not signed for this site, path and publisher is refused, whatever its status or its headers say.
 *
 * @throws ReadingError `object-missing`, `content-host-answer`, `content-host-unreachable`; ObjectError as `openDocument` does
 */
export async function openAt(
  fetchContent: FetchContent,
  expected: Expectation,
  context: ReadingContext,
): Promise<OpenedDocument> {
  const object = await fetchObject(fetchContent, expected.path);
  return openDocument(openCarrier(object), expected, context, async () => {
    const answer = await fetchContent(urlPathOf(expected.path));
    return bodyOf(answer, `the content of the signed document ${expected.path}`);
  });
}

async function fetchObject(fetchContent: FetchContent, path: string): Promise<AsyncIterable<Uint8Array>> {
  const beside = await fetchContent(objectUrlPathOf(path));
  if (beside.status === 200) return beside.body;
  await discard(beside);
  if (beside.status !== 404 && beside.status !== 410)
    throw unexpectedStatus(beside.status, `the protected object of ${path}`);
  return bodyOf(await fetchContent(urlPathOf(path)), `the protected object of ${path}`);
}

async function bodyOf(answer: ContentAnswer, what: string): Promise<AsyncIterable<Uint8Array>> {
  if (answer.status === 200) return answer.body;
  await discard(answer);
  if (answer.status === 404 || answer.status === 410) {
    throw new ReadingError('object-missing', `the content host does not have ${what}`);
  }
  throw unexpectedStatus(answer.status, what);
}

function unexpectedStatus(status: number, what: string): ReadingError {
  return new ReadingError('content-host-answer', `the content host answered ${status} when asked for ${what}`);
}

async function discard({ body }: ContentAnswer): Promise<void> {
  await body[Symbol.asyncIterator]().return?.();
}
