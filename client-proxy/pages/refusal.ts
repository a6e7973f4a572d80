/** Turns an error into a page: plain words, a short code, and a way on. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CodedError, reasonOf } from '../../core/errors.ts';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { ago, CONFIRMED_HEADER, confirmedAt } from '../../core/reading/confirmation.ts';
import { ACCOUNT_PAGE, documentPathOf } from '../../core/site/path.ts';
import { MissingSoFar } from '../../reading/missing-so-far.ts';
import { ReaderError } from '../errors.ts';
import { VIA } from '../network/answer-fields.ts';
import type { PublisherLook } from './look.ts';
import { CONTROL_HEADERS, headersFor, type Page, renderPage } from './template.ts';
import { missingSoFarText, type RefusalText, refusalText, type WayOn } from './texts.ts';
import { dayOf, momentOf } from './words.ts';

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
  /** Path and query of what was asked for, if it can be asked for again. */
  readonly again?: string | undefined;
  /** How the publisher wants pages in place of its own to look, by its signed settings. */
  readonly look?: (() => PublisherLook) | undefined;
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
  const { status, page } = refusalPage(known, { ...addresses, again: againOf(request) });
  const shown: Page = own ? { ...page, place: 'other', action: { text: 'Back to your sites', url: '/' } } : page;
  const html = renderPage(shown);
  response.writeHead(status, {
    ...(own ? CONTROL_HEADERS : headersFor(shown)),
    'content-length': String(Buffer.byteLength(html)),
    'wispr-refusal': known.code,
    via: VIA,
    ...(confirmed !== undefined && { [CONFIRMED_HEADER]: confirmed }),
    ...(status === 405 && { allow: 'GET, HEAD' }),
    ...refreshOf(page.refresh, request),
    ...(isStillComing(request) && { connection: 'close' }),
  });
  response.end(request.method === 'HEAD' ? undefined : html);
  return known;
}

/** The rest of an unwanted body is not read. */
function isStillComing({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);
}

/** With the address: where a page has a `#`, browsers would only go to that place in it. */
function refreshOf(seconds: number | undefined, request: IncomingMessage): Record<string, string> {
  const again = againOf(request);
  return seconds === undefined || again === undefined ? {} : { refresh: `${seconds};url=${again}` };
}

/** Path and query of a page that a browser can ask for again; nothing that could lead to another host. */
function againOf({ method, url = '' }: IncomingMessage): string | undefined {
  const target = url.replace(/^http:\/\/[^/?]*/i, '') || '/';
  return method === 'GET' && /^\/(?![/\\])/.test(target) ? target : undefined;
}

export function refusalPage(
  error: CodedError,
  addresses: RefusedAddresses = {},
): { status: number; page: Page & { readonly refresh?: number | undefined } } {
  const { address, ownPage, readingUrl, publicLink, look } = addresses;
  const { status = 502, title, lead, at, sameOnReadingSite = false, refresh, way = 'again' } = textFor(error);
  const page = {
    title,
    lead,
    refresh,
    look: look?.(),
    note: ownPage !== undefined && at ? at(ownPage) : undefined,
    action: actionOf(way, error.code, addresses),
    ...(readingUrl !== undefined &&
      !sameOnReadingSite && { second: { text: 'Read it on the reading site', url: readingUrl() } }),
    ...(status !== 404 && { publicLink: publicLink?.() }),
    facts: [
      ['Code', error.code],
      ...(address === undefined ? [] : [['Address', address] as const]),
      ['Detail', error.message],
    ] as const,
    factsTitle: 'For the publisher',
  };
  return { status, page };
}

/** The one button; none where it would lead to the same refusal. */
function actionOf(way: WayOn, code: string, addresses: RefusedAddresses): Page['action'] {
  const { again, firstPage, look, readingUrl } = addresses;
  const subscribe = look?.().subscribe;
  if (way === 'subscribe' && subscribe !== undefined)
    return { text: code === 'lapsed' ? 'Renew' : 'See subscriptions', url: subscribe };
  if (way === 'subscribe' && readingUrl !== undefined)
    return { text: 'Your account', url: new URL(ACCOUNT_PAGE, readingUrl()).href };
  if (way === 'again' && again !== undefined) return { text: 'Try again', url: again };
  return way === 'front' && firstPage !== undefined ? { text: 'Front page', url: firstPage() } : undefined;
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
  readonly look: PublisherLook;
}

/** The page in front of a site whose publication has not been confirmed for long: its documents are still shown. */
export function sendNotice(response: ServerResponse, { site, target, freshness, now, look }: Notice): void {
  const { version, confirmed, freshUntil, shownUntil } = freshness;
  const page: Page = {
    title: `${site} was up to date ${ago(confirmed, now)}`,
    lead: 'The publisher normally confirms every hour that nothing is missing. It hasn’t since then, so there may be an update you haven’t received.',
    action: { text: 'Read on', url: target },
    look,
    facts: [
      ['Version', String(version)],
      ['Up to date', momentOf(confirmed)],
      ['Next update due', momentOf(freshUntil)],
      ['Shown until', momentOf(shownUntil)],
    ],
    factsTitle: 'For the publisher',
  };
  sendWarning(response, page, 'stale', freshness);
}

/** The page in front of what is kept here of a publication that cannot be shown any more, whenever a reader comes to it. */
export function sendPastNotice(
  response: ServerResponse,
  { target, freshness, look }: Pick<Notice, 'target' | 'freshness' | 'look'>,
): void {
  const page: Page = {
    title: `This is the page as of ${dayOf(freshness.confirmed)}`,
    lead: 'Nothing newer could be checked. Only what is kept on this computer opens.',
    action: { text: 'Show it', url: target },
    refers: true, // so that the next request is known to come from here
    look,
    facts: [
      ['Version', String(freshness.version)],
      ['Up to date', momentOf(freshness.confirmed)],
    ],
    factsTitle: 'For the publisher',
  };
  sendWarning(response, page, 'past', freshness);
}

/** Not 200: a program that takes it for the document would be wrong. */
function sendWarning(response: ServerResponse, page: Page, notice: 'past' | 'stale', freshness: Freshness): void {
  const html = renderPage(page);
  response.writeHead(503, {
    ...headersFor(page),
    'content-length': String(Buffer.byteLength(html)),
    'wispr-notice': notice,
    via: VIA,
    [CONFIRMED_HEADER]: confirmedAt(freshness),
  });
  response.end(html);
}
