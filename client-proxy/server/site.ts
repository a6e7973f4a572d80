/** Answers a request for a connected site, as reading/answer.ts decides. */
import type { IncomingMessage } from 'node:http';
import type { ContentCoding } from '../../core/object/metadata.ts';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { answer, type FoundDocument } from '../../reading/answer.ts';
import { CONFIRMED_HEADER, confirmedAt } from '../../reading/confirmation.ts';
import { openerOf } from '../../reading/navigation.ts';
import type { RefusalLook } from '../../reading/refusal-page.ts';
import { documentHeaders } from '../documents/document-headers.ts';
import { type DeliveryAccess, type SiteHttpExchange, sendDocument } from '../documents/send-document.ts';
import { type HeaderFields, VIA } from '../network/answer-fields.ts';
import { sendDownloadPage } from '../pages/download.ts';
import type { Activity } from '../pages/noticed.ts';
import { pageTitleOf } from '../pages/page-title.ts';
import { sendNotice } from '../pages/refusal.ts';
import { isFromHere, type Past } from './past.ts';

export interface SiteRequest extends SiteHttpExchange {
  /** Path and query as they stand in the request. */
  readonly target: string;
  readonly freshness: Freshness;
  /** The publication as it was, where that is shown: only what is kept here. */
  readonly past: Past | undefined;
  /** Seconds since 1970. */
  readonly now: () => number;
  readonly look: RefusalLook;
  /** Tells whether a page warns first of a publication that has not been confirmed for long. */
  readonly notices: boolean;
  readonly verified: Activity | undefined;
}

/** @throws why there is no answer; if `response.headersSent`, the caller must end it visibly incomplete */
export async function serveSite(access: DeliveryAccess, wanted: SiteRequest): Promise<void> {
  const { bound, freshness, past, request, response, target, now } = wanted;
  const { method = '', headers } = request;
  const asked = { method, target, opener: openerOf(headers), isFromHere: isFromHere(request) };
  const { site, publication } = bound;
  const isNoticeDue = () => wanted.notices && bound.isNoticeDue();
  await answer(
    asked,
    { site, publication, freshness, past, now, isNoticeDue },
    {
      document: (found) => serve(access, wanted, found),
      redirect: (status, location) => sendRedirect(wanted, status, location),
      notice: (notice) => sendNotice(response, notice, { ...wanted, now: now() }),
      hasBegun: () => response.headersSent,
    },
  );
}

async function serve(access: DeliveryAccess, wanted: SiteRequest, found: FoundDocument): Promise<void> {
  const { path, entry, status } = found;
  const { bound, verified, response, request, now, target } = wanted;
  const confirmed = confirmedAt(wanted.freshness);
  const mayNotFetch = wanted.mode === 'gateway' && isFromElsewhere(request);
  let isHeld = false;
  const instead = (headers: HeaderFields) => {
    isHeld = mayNotFetch && !isShown(headers);
    if (isHeld) sendDownloadPage(response, { site: bound.site, target, confirmed });
    return isHeld;
  };
  let title: string | undefined;
  const recordStart = (start: Uint8Array, coding: ContentCoding | undefined) => {
    title = pageTitleOf(start, coding);
  };
  const isNoted = verified !== undefined && isReadable(path);
  const about = { path, entry, status, confirmed, instead, recordStart: isNoted ? recordStart : undefined };
  const source = await sendDocument(access, { ...wanted, ...about });
  if (isHeld || request.method !== 'GET' || status !== 200 || !response.writableEnded) return;
  const from = response.statusCode === 304 ? 'browser' : source;
  if (isNoted) verified.record({ site: bound.site, path, title, from, time: now() });
}

function sendRedirect({ mode, links, freshness, response }: SiteRequest, status: number, location: string): void {
  const headers = {
    location: links?.rewrite(location) ?? location,
    'content-length': '0',
    'cache-control': 'private, no-cache',
    via: VIA,
    [CONFIRMED_HEADER]: confirmedAt(freshness),
  };
  response.writeHead(status, documentHeaders(headers, mode)).end();
}

function isFromElsewhere({ headers }: IncomingMessage): boolean {
  const { 'sec-fetch-mode': mode, 'sec-fetch-site': from } = headers;
  return mode === 'navigate' && (from === 'cross-site' || from === 'same-site');
}

/** Types that every browser shows in its window. It keeps the rest as a file, or does so where it is set up to. */
const SHOWN = /^(?:text\/(?:html|plain)|application\/xhtml\+xml|image\/(?:png|jpeg|gif|webp|avif|svg\+xml))\s*(?:;|$)/i;

function isShown({ 'content-type': type, 'content-disposition': disposition }: HeaderFields): boolean {
  return SHOWN.test(String(type)) && (disposition === undefined || /^\s*inline\s*(?:;|$)/i.test(String(disposition)));
}

/** Tells whether people open a document by itself: a page, a text, a book; what pages load is no reading. Its name decides, which a 304 has too. */
function isReadable(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return !name.includes('.') || /\.(?:x?html?|pdf|epub|txt)$/i.test(name);
}
