/** Opener and sender of a request, by Fetch Metadata (https://www.w3.org/TR/fetch-metadata/): one table for every adapter. */
import { headerOf, type RequestHeaders } from './request-headers.ts';

/**
 * | Sec-Fetch-Mode | Sec-Fetch-Dest | Accept            | opener    |
 * |----------------|----------------|-------------------|-----------|
 * | `navigate`     | `document`     |                   | `window`  |
 * | any other      | any other      |                   | `page`    |
 * | any            | none           |                   | `program` |
 * | none           | none           | names `text/html` | `window`  |
 * | none           | none           | any other         | `program` |
 *
 * Browsers send no Fetch Metadata to plain-http origins, and old ones none at all; they ask for HTML in a window, and for nothing like it elsewhere.
 */
export type Opener = 'window' | 'page' | 'program';

/** @param headers - of a GET or HEAD */
export function openerOf(headers: RequestHeaders): Opener {
  if (isWindow(headers)) return 'window';
  // Programs may name a mode and nothing else.
  if (headerOf(headers, 'sec-fetch-dest') !== undefined || senderOf(headers) !== undefined) return 'page';
  if (headerOf(headers, 'sec-fetch-mode') !== undefined) return 'program';
  return (headerOf(headers, 'accept') ?? '').includes('text/html') ? 'window' : 'program';
}

/** Tells whether a browser says that a whole window goes there. */
export function isWindow(headers: RequestHeaders): boolean {
  return headerOf(headers, 'sec-fetch-mode') === 'navigate' && headerOf(headers, 'sec-fetch-dest') === 'document';
}

const SHOWN: ReadonlySet<string> = new Set(['document', 'embed', 'frame', 'iframe', 'object']);

/** Tells whether a person may see the answer. A refusal of anything else has no body: a script that looks at no status would take it for data. */
export function isShown(headers: RequestHeaders): boolean {
  return SHOWN.has(headerOf(headers, 'sec-fetch-dest') ?? 'document');
}

/** Origin of a request: a page of this origin; a page of another one; the reader, who typed it; `undefined`: nothing says so. */
export type Sender = 'here' | 'elsewhere' | 'reader' | undefined;

export function senderOf(headers: RequestHeaders): Sender {
  switch (headerOf(headers, 'sec-fetch-site')) {
    case undefined:
      return undefined;
    case 'same-origin':
      return 'here';
    case 'none':
      return 'reader';
    default:
      return 'elsewhere';
  }
}
