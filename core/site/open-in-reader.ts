/** The link "Open in Reader", which pages for browsers without a Reader offer: it leads to the Reader on the same computer, if there is one. */

/** Where a Reader listens, unless its reader chose another port or another program has it. */
export const READER_PORT = 8001;

/**
 * Leads to a page of the Reader that asks before anything happens: it offers to open the document, or asks for an invitation.
 *
 * @param site - host name
 * @param urlPath - of the document, as it stands in URLs, without query
 */
export function openInReaderUrl(site: string, urlPath: string): string {
  return `http://localhost:${READER_PORT}/connect?site=${encode(site)}&path=${encode(urlPath)}`;
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll('%2F', '/');
}
