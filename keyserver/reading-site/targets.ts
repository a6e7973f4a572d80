/** Where a browser is led to, and whether it is a person who goes there. */
import type { Request } from 'express';

/** Whether a page is opened in a window of its own, as browsers say. Programs do not say, though some name a mode. */
export function isOpened({ headers }: Request): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers;
  if (site === undefined && destination === undefined) return true;
  return mode === 'navigate' && destination === 'document';
}
