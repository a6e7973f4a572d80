/** Where a browser is led to, and whether it is a person who goes there. */
import type { Request } from 'express';
import { READING_SITE_PAGES } from '../../core/site/path.ts';

/** A path and query of an origin, or its front page for anything else. */
export function localTarget(text: string, origin: string): string {
  if (!text.startsWith('/') || !URL.canParse(text, origin)) return '/';
  const url = new URL(text, origin);
  const target = url.pathname + url.search;
  // What dot segments leave behind can begin with two slashes, which lead to another host.
  return url.origin === origin && !/^\/[/\\]/.test(target) ? target : '/';
}

/** The path and query of a document, or the front page for anything else. */
export function documentTarget(text: string, origin: string): string {
  const target = localTarget(text, origin);
  return target.startsWith(`${READING_SITE_PAGES}/`) ? '/' : target;
}

/** A member of the query; one that is missing is empty. */
export function queryOf({ originalUrl }: Request, name: string): string {
  return new URLSearchParams(originalUrl.replace(/^[^?]*/, '')).get(name) ?? '';
}

/** Whether a page is opened in a window of its own, as browsers say. Programs do not say, though some name a mode. */
export function isOpened({ headers }: Request): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers;
  if (site === undefined && destination === undefined) return true;
  return mode === 'navigate' && destination === 'document';
}
