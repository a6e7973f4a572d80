/** Turns an error into a page: plain words, a short code, and a way on. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CodedError, reasonOf } from '../../core/errors.ts';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { ago, CONFIRMED_HEADER, confirmedAt } from '../../core/reading/confirmation.ts';
import { documentPathOf } from '../../core/site/path.ts';
import { ReaderError } from '../errors.ts';
import { VIA } from '../network/answer-fields.ts';
import { MissingSoFar } from '../site/missing-so-far.ts';
import { CONTROL_HEADERS, PAGE_HEADERS, type Page, renderPage } from './template.ts';
import { missingSoFarText, type RefusalText, refusalText } from './texts.ts';
import { momentOf } from './words.ts';

/** What a page of an error can lead to, and name. */
export interface RefusedAddresses {
  /** What was asked for, as the reader knows it: host and path. */
  readonly address?: string | undefined;
  /** The signed reading site, for documents of a connected site. */
  readonly readingUrl?: (() => string) | undefined;
  /** The public address of the document. */
  readonly publicLink?: (() => string) | undefined;
  /** Address of the first page of the site, where it was not that page that was asked for. */
  readonly firstPage?: (() => string) | undefined;
  /** Address of the Reader's own first page. */
  readonly ownPage?: string | undefined;
}

export interface RefusedRequest extends RefusedAddresses {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** When its publication was last confirmed, for the header field. */
  readonly confirmed?: string | undefined;
  /** The request was for one of the Reader's own pages, and is answered as one of them. */
  readonly own?: boolean | undefined;
}

/** Answers with a page; where bytes are out already, ends the transfer visibly incomplete. */
export function refuse(
  error: unknown,
  { request, response, confirmed, own, ...addresses }: RefusedRequest,
): CodedError {
  const known = error instanceof CodedError ? error : unforeseen(error);
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return known;
  }
  const { status, page } = refusalPage(known, addresses);
  const html = renderPage(own ? { ...page, place: 'other', action: { text: 'Back to your sites', url: '/' } } : page);
  response.writeHead(status, {
    ...(own ? CONTROL_HEADERS : PAGE_HEADERS),
    'content-length': String(Buffer.byteLength(html)),
    'wispr-refusal': known.code,
    via: VIA,
    ...(confirmed !== undefined && { [CONFIRMED_HEADER]: confirmed }),
    ...(status === 405 && { allow: 'GET, HEAD' }),
    ...(isStillComing(request) && { connection: 'close' }),
  });
  response.end(request.method === 'HEAD' ? undefined : html);
  return known;
}

/** The rest of an unwanted body is not read. */
function isStillComing({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);
}

export function refusalPage(
  error: CodedError,
  { address, ownPage, readingUrl, publicLink, firstPage }: RefusedAddresses = {},
): { status: number; page: Page } {
  const { status = 502, title, lead, sameOnReadingSite = false, ...text } = textFor(error);
  const advice = [
    ...(ownPage !== undefined && text.adviceAt ? [text.adviceAt(ownPage)] : []),
    ...text.advice,
    ...(firstPage !== undefined && text.firstPage ? [text.firstPage(firstPage())] : []),
  ];
  const page: Page = {
    title,
    lead,
    ...(advice.length > 0 && { advice }),
    ...(readingUrl !== undefined &&
      !sameOnReadingSite && { action: { text: 'Read it on the reading site', url: readingUrl() } }),
    ...(status !== 404 && { publicLink: publicLink?.() }),
    facts: [
      ['Code', error.code],
      ...(address === undefined ? [] : [['Address', address] as const]),
      ['Detail', error.message],
    ],
  };
  return { status, page };
}

function textFor(error: CodedError): RefusalText {
  if (!(error instanceof MissingSoFar)) return refusalText(error.code);
  const { confirmed, now } = error.atHand;
  return missingSoFarText(ago(confirmed, now), error.lookFailed);
}

/** The same document on the reading site; a path that no document has leads to its first page. The query goes along. */
export function readingUrlOf(readingSite: string, target: string): string {
  return documentPathOf(target) === undefined ? `${readingSite}/` : new URL(target, readingSite).href;
}

/** Where the document's fallback page is, for everybody: on the site's own host. */
export function publicLinkOf(site: string, content: readonly string[], target: string): string {
  return `${content.includes(`https://${site}`) ? 'https' : 'http'}://${site}${target}`;
}

/** A fault of this program: the page does not show more of it than its message. */
function unforeseen(error: unknown): ReaderError {
  return new ReaderError('internal', `internal error: ${reasonOf(error)}`, { cause: error });
}

interface Notice {
  readonly site: string;
  /** Path and query of what was asked for: where the way on leads. */
  readonly target: string;
  readonly freshness: Freshness;
  /** Seconds since 1970. */
  readonly now: number;
}

/**
 * The page in front of a site whose publication has not been confirmed for long: its documents are still shown. Not 200: a program that takes it for the document would be
 * wrong.
 */
export function sendNotice(response: ServerResponse, { site, target, freshness, now }: Notice): void {
  const { version, confirmed, freshUntil, shownUntil } = freshness;
  const html = renderPage({
    title: `${site} was last confirmed ${ago(confirmed, now)}`,
    lead: 'You can read on: everything is as the publisher signed it, but there may be an update you haven’t received.',
    advice: ['Check your connection, and the clock of this computer.'],
    action: { text: 'Read on', url: target },
    facts: [
      ['Publication', String(version)],
      ['Last confirmed', momentOf(confirmed)],
      ['To be confirmed by', momentOf(freshUntil)],
      ['Shown until', momentOf(shownUntil)],
    ],
  });
  response.writeHead(503, {
    ...PAGE_HEADERS,
    'content-length': String(Buffer.byteLength(html)),
    'wispr-notice': 'stale',
    via: VIA,
    [CONFIRMED_HEADER]: confirmedAt(freshness),
  });
  response.end(html);
}
