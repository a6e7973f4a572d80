/**
 * Answers a request for a connected site: its publication decides what there is at the address. Statuses, headers and redirects of content hosts do
 * not count.
 */
import type { IncomingMessage } from 'node:http';
import { CodedError } from '../../core/errors.ts';
import type { ContentCoding } from '../../core/object/metadata.ts';
import type { Resolution } from '../../core/publication/resolve.ts';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { CONFIRMED_HEADER, confirmedAt } from '../../core/reading/confirmation.ts';
import { ReadingError } from '../../core/reading/errors.ts';
import { localRedirect } from '../../core/reading/local-redirect.ts';
import { type DeliveryAccess, type SiteExchange, serveDocument } from '../documents/document-door.ts';
import { documentHeaders } from '../documents/document-headers.ts';
import { type HeaderFields, VIA } from '../network/answer-fields.ts';
import { sendDownloadPage } from '../pages/download.ts';
import type { PublisherLook } from '../pages/look.ts';
import type { Activity } from '../pages/noticed.ts';
import { pageTitleOf } from '../pages/page-title.ts';
import { sendNotice, sendPastNotice } from '../pages/refusal.ts';
import { MissingSoFar } from '../site/missing-so-far.ts';
import { isFromHere, type Past } from './past.ts';

export interface SiteRequest extends SiteExchange {
  /** Path and query as they stand in the request. */
  readonly target: string;
  readonly freshness: Freshness;
  /** The publication as it was, where that is shown: only what is kept here. */
  readonly past: Past | undefined;
  /** Seconds since 1970. */
  readonly now: () => number;
  /** How pages in place of the publisher's look. */
  readonly look: PublisherLook;
  /** Whether a page warns first of a publication that has not been confirmed for long. */
  readonly notices: boolean;
  /** Where documents that were read are recorded. */
  readonly verified: Activity | undefined;
}

/** @throws why there is no answer; if `response.headersSent`, the caller must end it visibly incomplete */
export async function serveSite(access: DeliveryAccess, wanted: SiteRequest): Promise<void> {
  const { bound, freshness, past, request, response } = wanted;
  if (past && !isFromHere(request)) {
    if (!isNavigation(request)) throw past.reason;
    return sendPastNotice(response, wanted);
  }
  if (!past && freshness.stale && wanted.notices && isNavigation(request) && bound.isNoticeDue())
    return sendNotice(response, { ...wanted, site: bound.site, now: wanted.now() });
  try {
    await serveResolved(access, wanted);
  } catch (error) {
    if (past || response.headersSent || !mayBeOutdated(error) || !(await bound.publication.hasMovedOn())) throw error;
    await serveResolved(access, wanted);
  }
}

async function serveResolved(access: DeliveryAccess, wanted: SiteRequest): Promise<void> {
  const { past } = wanted;
  const { publication } = wanted.bound;
  const look = () => (past?.publication ?? publication.publication).resolve(wanted.target, past?.time ?? wanted.now());
  let resolution = await look();
  // The link may lead to a page that was published this minute.
  if (!past && resolution.kind === 'missing' && isNavigation(wanted.request) && (await publication.hasMovedOn()))
    resolution = await look();
  switch (resolution.kind) {
    case 'document':
      return serve(access, wanted, resolution, 200);
    case 'redirect':
      return sendRedirect(wanted, resolution);
    case 'missing':
      return serveMissing(access, wanted);
    case 'refused':
      throw new ReadingError('path-refused', 'the address has a spelling that no document has');
  }
}

type Found = Pick<Extract<Resolution, { kind: 'document' }>, 'path' | 'entry'>;

async function serve(access: DeliveryAccess, wanted: SiteRequest, found: Found, status: 200 | 404): Promise<void> {
  const { path, entry } = found;
  const { bound, verified, response, request, now, target } = wanted;
  const confirmed = confirmedAt(wanted.freshness);
  const mayNotFetch = wanted.door === 'gateway' && isFromElsewhere(request);
  let isHeld = false;
  const instead = (headers: HeaderFields) => {
    isHeld = mayNotFetch && !isShown(headers);
    if (isHeld) sendDownloadPage(response, { site: bound.site, target, confirmed });
    return isHeld;
  };
  let title: string | undefined;
  const noteStart = (start: Uint8Array, coding: ContentCoding | undefined) => {
    title = pageTitleOf(start, coding);
  };
  const isNoted = verified !== undefined && isReadable(path);
  const about = { path, entry, status, confirmed, instead, noteStart: isNoted ? noteStart : undefined };
  const source = await serveDocument(access, { ...wanted, ...about });
  if (isHeld || request.method !== 'GET' || status !== 200 || !response.writableEnded) return;
  const from = response.statusCode === 304 ? 'browser' : source;
  if (isNoted) verified.record({ site: bound.site, path, title, from, time: now() });
}

/** Serves the publisher's own 404 page, if there is a public one. */
async function serveMissing(access: DeliveryAccess, wanted: SiteRequest): Promise<void> {
  const { publication } = wanted.bound.publication;
  const path = publication.settings.notFound;
  const entry = path === undefined || wanted.past ? undefined : await publication.document(path, wanted.now());
  if (path !== undefined && entry && entry.set === undefined) return serve(access, wanted, { path, entry }, 404);
  throw missing(wanted);
}

function missing({ bound: { publication: keeper }, freshness, now, past }: SiteRequest): ReadingError {
  const { failure, isSlow, publication } = keeper;
  if (past)
    return new ReadingError('content-host-unreachable', 'there was no such document, and nothing newer is known');
  if (failure === undefined && !isSlow)
    return new ReadingError('no-such-document', 'the publisher signed that there is no such document');
  const { version = freshness.version } = publication.state?.snapshot ?? {};
  return new MissingSoFar({ version, confirmed: freshness.confirmed, now: now() }, failure);
}

function sendRedirect(
  { bound, door, links, freshness, response }: SiteRequest,
  { status, location }: Extract<Resolution, { kind: 'redirect' }>,
): void {
  const local = localRedirect(location, bound.site);
  const headers = {
    location: links?.rewrite(local) ?? local,
    'content-length': '0',
    'cache-control': 'no-cache',
    via: VIA,
    [CONFIRMED_HEADER]: confirmedAt(freshness),
  };
  response.writeHead(status, documentHeaders(headers, door)).end();
}

/** Whether a page is opened in a window of its own. */
function isNavigation({ method, headers }: IncomingMessage): boolean {
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': destination, accept = '' } = headers;
  if (method !== 'GET') return false;
  return mode === undefined ? accept.includes('text/html') : mode === 'navigate' && destination === 'document';
}

/** Whether a page of another origin leads here. */
function isFromElsewhere({ headers }: IncomingMessage): boolean {
  const { 'sec-fetch-mode': mode, 'sec-fetch-site': from } = headers;
  return mode === 'navigate' && (from === 'cross-site' || from === 'same-site');
}

/** What every browser shows in its window. It keeps the rest as a file, or does so where it is set up to. */
const SHOWN = /^(?:text\/(?:html|plain)|application\/xhtml\+xml|image\/(?:png|jpeg|gif|webp|avif|svg\+xml))\s*(?:;|$)/i;

function isShown({ 'content-type': type, 'content-disposition': disposition }: HeaderFields): boolean {
  return SHOWN.test(String(type)) && (disposition === undefined || /^\s*inline\s*(?:;|$)/i.test(String(disposition)));
}

/** Whether a document is one that people open by itself: a page, a text, a book; what pages load is no reading of its own. By its name, which a 304 has too. */
function isReadable(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return !name.includes('.') || /\.(?:x?html?|pdf|epub|txt)$/i.test(name);
}

/** Whether a newer publication could help: files of the current one were removed or replaced. */
function mayBeOutdated(error: unknown): boolean {
  return error instanceof CodedError && (error.code === 'head-unexpected' || error.code === 'object-missing');
}
