/**
 * Which requests the Reader's own pages and connected sites, at every door, serve: those of their own pages, those that the reader typed or followed a link
 * for, and those of programs that are no browsers. Fetch Metadata: https://www.w3.org/TR/fetch-metadata/
 */
import type { IncomingHttpHeaders } from 'node:http';

/** @param ownOrigin - of the page that is asked for */
export function isWelcome(headers: IncomingHttpHeaders, ownOrigin: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined) return headers.origin === undefined || headers.origin === ownOrigin;
  if (site === 'same-origin' || site === 'none') return true;
  return headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}
