/** Words of every reader on how fresh a publication is, and what they can ask: docs/spec/publication.md, "Reading". */
import type { Freshness } from '../core/publication/site-publication.ts';
import { headerOf, type RequestHeaders } from './request-headers.ts';

/** Header of answers for a bound site: when its publication was last confirmed, by its publisher or key server; an HTTP date. */
export const CONFIRMED_HEADER = 'wispr-confirmed';

/** The last one that was asked for: the same for all documents of a site, request after request. */
let lastConfirmed = { confirmed: Number.NaN, text: '' };

/** The value of {@link CONFIRMED_HEADER}. */
export function confirmedAt({ confirmed }: Pick<Freshness, 'confirmed'>): string {
  if (lastConfirmed.confirmed !== confirmed)
    lastConfirmed = { confirmed, text: new Date(confirmed * 1000).toUTCString() };
  return lastConfirmed.text;
}

/** Tells whether a request asks for what is newest: an end-to-end reload (RFC 9111 section 5.2.1.4). */
export function asksForNewest(headers: RequestHeaders): boolean {
  return /(?:^|[\s,])no-cache(?:$|[\s,])/i.test(headerOf(headers, 'cache-control') ?? '');
}
