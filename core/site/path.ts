/**
 * Paths of documents, and how they stand in URLs: docs/spec/protected-object.md, "Paths". The one place where a URL becomes a
 * path, for publisher and readers alike, so that both mean the same document or none.
 */
import { utf8 } from '../encoding/bytes.ts';
import { remembering } from '../encoding/remembering.ts';

/** Appended to the URL of a document to get the URL of its protected object. */
export const OBJECT_SUFFIX = '.protected';

/** The reading site's own pages stand here and below, so that no document can: publishers refuse it. */
export const READING_SITE_PAGES = '/-';

export const JOIN_PAGE = '/-/join';

/** Page where keys are asked for at the vault, and arrive at the documents' origin: docs/spec/web-reader.md, "The bounce". */
export const KEYS_PAGE = '/-/keys';

/** Page of a frame behind a browser's first page, at the documents' origin: docs/spec/web-reader.md, "The first page". */
export const BEHIND_PAGE = '/-/behind';
/** Name of the cookie of a browser whose page permitted no such frame: its next page is opened in the strict way. */
export const STRICT_COOKIE = 'wispr-strictly';

/** The page of the reading site with a person's subscription and devices. */
export const ACCOUNT_PAGE = '/-/account';

/** The page of the reading site with the plans on offer. */
export const SUBSCRIBE_PAGE = '/-/subscribe';

/** Pages where one is given away, and where whoever has the link opens it; at the documents' origin, where the secret of the link arrives. */
export const GIVE_PAGE = '/-/give';
export const GIFT_PAGE = '/-/gift';
/** Query of a page that was given: the server opens it, and what it loads, also where a worker answers for all else. */
export const GIVEN = '?wispr-gift';

/** Page where keys are had on a site without a key server: docs/spec/web-reader.md, "Key files". */
export const OPEN_PAGE = '/-/open.html';

/** Key files lie here, by their names. */
export const KEY_FILES_PATH = '/-/keys/';

/** The service worker of a site without a key server: at the top, because its scope reaches no further up than it lies. */
export const ROOT_WORKER = '/wispr-worker.js';

/** Page to which a browser at the documents' origin is led after signing out. */
export const LEAVE_PAGE = '/-/leave';

const MAXIMUM_PATH_BYTES = 2048;
const INDEX_DOCUMENT = 'index.html';
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses
const REFUSED_IN_SEGMENT = /[/\\\u0000-\u001f\u007f]/;
const UNRESERVED = /^[A-Za-z0-9._~-]$/;
const ONLY_UNRESERVED = /^[A-Za-z0-9._~-]*$/;

/** Tells whether `text` is a document's path in its one canonical form. */
export function isDocumentPath(text: unknown): text is string {
  if (typeof text !== 'string' || !text.startsWith('/') || !text.isWellFormed()) return false;
  if (3 * text.length > MAXIMUM_PATH_BYTES && utf8(text).length > MAXIMUM_PATH_BYTES) return false;
  return text.slice(1).split('/').every(isSegment);
}

/**
 * The path of the document that a URL's path names.
 *
 * @param urlPath - the path as it stands in the request: percent-encoded; a query or fragment is cut off
 * @returns `undefined` for a spelling that is refused
 */
export const documentPathOf: (urlPath: string) => string | undefined = /* @__PURE__ */ remembering((urlPath) => {
  const [encoded = ''] = urlPath.split(/[?#]/, 1);
  if (!encoded.startsWith('/') || encoded.length > 3 * MAXIMUM_PATH_BYTES) return undefined;
  const segments = encoded.slice(1).split('/').map(percentDecode);
  if (segments.at(-1) === '') segments[segments.length - 1] = INDEX_DOCUMENT;
  const path = `/${segments.join('/')}`;
  return segments.every((segment) => segment !== undefined && isSegment(segment)) && isDocumentPath(path)
    ? path
    : undefined;
});

/** The URL path of a document, in the one spelling used for fetching: all but RFC 3986's unreserved characters are percent-encoded. */
export function urlPathOf(documentPath: string): string {
  return documentPath.split('/').map(percentEncode).join('/');
}

function isSegment(segment: string): boolean {
  return segment !== '' && segment !== '.' && segment !== '..' && !REFUSED_IN_SEGMENT.test(segment);
}

function percentDecode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function percentEncode(segment: string): string {
  if (ONLY_UNRESERVED.test(segment)) return segment;
  return Array.from(utf8(segment), (byte) => {
    const character = String.fromCharCode(byte);
    return UNRESERVED.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
}
