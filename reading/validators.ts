/** Conditional requests: RFC 9110 sections 8.8 and 13. */
import { parseHttpDate } from './http-date.ts';
import { headerOf, type RequestHeaders } from './request-headers.ts';

/** Matches each tag of a list; tags that were not sent from here may have any characters. */
const TAGS = /(?:^|,)[ \t]*(W\/)?("[^"]*")[ \t]*(?=,|$)/g;

export interface Validators {
  /** A strong entity tag, with its quotes. */
  readonly etag: string;
  /** `Last-Modified`, as sent. */
  readonly lastModified: string | undefined;
}

/** Tells whether a request demands another version than this: 412 is the answer (section 13.2.2, steps 1 and 2). */
export function preconditionFails(headers: RequestHeaders, { etag, lastModified }: Validators): boolean {
  const tags = headerOf(headers, 'if-match');
  if (tags !== undefined) return !isNamed(tags, etag, false);
  return modifiedAfter(headerOf(headers, 'if-unmodified-since'), lastModified) === true;
}

/** Tells whether the client has this version already, so that 304 is the answer (steps 3 and 4). */
export function isNotModified(headers: RequestHeaders, { etag, lastModified }: Validators): boolean {
  const tags = headerOf(headers, 'if-none-match');
  if (tags !== undefined) return isNamed(tags, etag, true);
  return modifiedAfter(headerOf(headers, 'if-modified-since'), lastModified) === false;
}

/** Tells whether a range may be served: `If-Range` is absent, or names exactly this version (step 5). */
export function rangeApplies(headers: RequestHeaders, { etag, lastModified }: Validators): boolean {
  const condition = headerOf(headers, 'if-range');
  if (condition === undefined) return true;
  return condition === etag || (lastModified !== undefined && condition === lastModified);
}

/** Tells whether this version is newer than a date of the request; `undefined` where one of both is none. */
function modifiedAfter(date: string | undefined, lastModified: string | undefined): boolean | undefined {
  const since = parseHttpDate(date);
  const modified = since === undefined ? undefined : parseHttpDate(lastModified);
  return since === undefined || modified === undefined ? undefined : modified > since;
}

/** @param weakly - a mark of weakness is no difference */
function isNamed(list: string, etag: string, weakly: boolean): boolean {
  return list === '*' || [...list.matchAll(TAGS)].some(([, weak, tag]) => tag === etag && (weakly || !weak));
}
