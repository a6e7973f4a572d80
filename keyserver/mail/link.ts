/**
 * The link of a mail: the page of invitations, with one button. A program that looks into mails and opens it uses nothing up.
 *
 * @param code - of an invitation; it stands behind `#`, which browsers do not send
 * @param root - root id of the publisher, for a Reader
 * @param to - path and query of the document that is wanted
 */
export function mailedLink(readingSite: string, code: string, root: string | undefined, to: string = '/'): string {
  const query = new URLSearchParams({ mail: '1', ...(to !== '/' && { to }) });
  return `${readingSite}/-/join?${query}#${code}${root === undefined ? '' : `.${root}`}`;
}
