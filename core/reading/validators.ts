/** Conditional requests: RFC 9110 sections 8.8 and 13. */
import { headerOf, type RequestHeaders } from './request-headers.ts';

export interface Validators {
  /** A strong entity tag, with its quotes. */
  readonly etag: string;
  /** `Last-Modified`, as sent. */
  readonly lastModified: string | undefined;
}

/** Whether the client has this version already, so that 304 is the answer. */
export function isNotModified(headers: RequestHeaders, { etag, lastModified }: Validators): boolean {
  const tags = headerOf(headers, 'if-none-match');
  if (tags !== undefined) return tags.trim() === '*' || entityTags(tags).includes(etag);
  const since = headerOf(headers, 'if-modified-since');
  if (since === undefined || lastModified === undefined) return false;
  return Date.parse(lastModified) <= Date.parse(since);
}

/** Whether a range may be served: `If-Range` is absent, or names exactly this version. */
export function rangeApplies(headers: RequestHeaders, { etag, lastModified }: Validators): boolean {
  const condition = headerOf(headers, 'if-range');
  if (condition === undefined) return true;
  return condition === etag || (lastModified !== undefined && condition === lastModified);
}

/** The tags of a list, compared weakly: a mark of weakness is dropped. */
function entityTags(list: string): string[] {
  return Array.from(list.matchAll(/(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g), ([, tag = '']) => tag);
}
