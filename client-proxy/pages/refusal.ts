/** Turns whatever kept a request from being answered into a page: plain words, a short code, and a way on. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CodedError, reasonOf } from '../../core/errors.ts';
import { CONFIRMED_HEADER } from '../../core/reading/confirmation.ts';
import { documentPathOf } from '../../core/site/path.ts';
import { VIA } from '../answer-fields.ts';
import { ReaderError } from '../errors.ts';
import { PAGE_HEADERS, type Page, renderPage } from './template.ts';
import { refusalText } from './texts.ts';

export interface RefusedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** What was asked for, as the reader knows it: host and path. */
  readonly address?: string | undefined;
  /** The signed reading site, for documents of a connected site. */
  readonly readingUrl?: (() => string) | undefined;
  /** When its publication was last confirmed, for the header field. */
  readonly confirmed?: string | undefined;
}

/** Answers with a page; where bytes are out already, ends the transfer visibly incomplete. */
export function refuse(
  error: unknown,
  { request, response, address, readingUrl, confirmed }: RefusedRequest,
): CodedError {
  const known = error instanceof CodedError ? error : unforeseen(error);
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return known;
  }
  const { status, page } = refusalPage(known, address, readingUrl?.());
  const html = renderPage(page);
  response.statusMessage = ''; // a host's, with characters that HTTP has no place for, may have been tried before
  response.writeHead(status, {
    ...PAGE_HEADERS,
    'content-length': String(Buffer.byteLength(html)),
    'wispr-refusal': known.code,
    via: VIA,
    ...(confirmed !== undefined && { [CONFIRMED_HEADER]: confirmed }),
    ...(status === 405 && { allow: 'GET, HEAD' }),
  });
  response.end(request.method === 'HEAD' ? undefined : html);
  return known;
}

export function refusalPage(error: CodedError, address?: string, readingUrl?: string): { status: number; page: Page } {
  const { status, title, lead, advice, sameOnReadingSite = false } = refusalText(error.code);
  const page: Page = {
    title,
    lead,
    ...(advice.length > 0 && { advice }),
    ...(readingUrl !== undefined &&
      !sameOnReadingSite && { action: { text: 'Read it on the reading site', url: readingUrl } }),
    facts: [
      ['Code', error.code],
      ...(address === undefined ? [] : [['Address', address] as const]),
      ['Detail', error.message],
    ],
  };
  return { status, page };
}

/** The same document on the reading site; a path that no document has leads to its first page. The query goes along. */
export function readingUrlOf(readingSite: string, target: string): string {
  return documentPathOf(target) === undefined ? `${readingSite}/` : new URL(target, readingSite).href;
}

/** A fault of this program: the page does not show more of it than its message. */
function unforeseen(error: unknown): ReaderError {
  return new ReaderError('internal', `internal error: ${reasonOf(error)}`, { cause: error });
}
