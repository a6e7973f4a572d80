/** Links from pages for browsers without a Reader to the Reader on the same computer, if there is one. */

/** Port at which a Reader listens, unless its reader chose another port or another program has it. */
export const READER_PORT = 8001;

/** Path to which a page of another site may post an invitation, as `link`: the Reader shows it, and asks before anything is done with it. */
export const READER_INVITATION_PATH = '/invitation';

/** Address of that, for forms. */
export const READER_INVITATION_URL = `http://localhost:${READER_PORT}${READER_INVITATION_PATH}`;

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
