/**
 * The link of an invitation, docs/spec/keys.md section 7: the page of invitations at the reading site, or the key server's address, then `#CODE.ROOT`,
 * a one-time code and the publisher's root id. What stands behind `#` is never sent as part of a URL.
 */
import { isKeyId, type KeyId } from '../../core/crypto/key-id.ts';
import { normaliseCode } from '../../core/keys/binding.ts';
import { JOIN_PAGE, OPEN_PAGE } from '../../core/site/path.ts';
import { isOrigin } from '../../core/site/site.ts';
import { ReaderError } from '../errors.ts';

export interface InvitationLink {
  readonly origin: string;
  /** Left out to look at an existing connection again. */
  readonly code: string | undefined;
  /** The root id of the publisher that invites; links without one leave it to the hosts. */
  readonly publisher: KeyId | undefined;
}

/** The link as a part of a command, perhaps with what stands in front of that. */
const COMMAND = /^(?:.*\s)?bind\s+(["']?)(?=https?:)(.*)$/is;

/** A link, or a command with one: invitations arrive as they were printed. No message of an error has the code. */
export function parseInvitationLink(text: string): InvitationLink {
  const [address = '', ...rest] = linkIn(text.trim()).split('#');
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isPage = url?.pathname === JOIN_PAGE;
  if (!url || url.username || url.password || (url.search && !isPage))
    throw malformed('that is not the link of an invitation');
  if (!isOrigin(url.origin, { allowLoopback: true }))
    throw malformed('the address in the link of an invitation begins with https://');
  if (url.pathname === OPEN_PAGE) throw readInBrowser(url.origin);
  if (isPage && rest.length === 0)
    throw malformed('the page of an invitation keeps its code from the address bar: it offers the whole link');
  if (!isPage && url.pathname !== '/') throw malformed('the address of a key server has no path');
  if (rest.length === 0) return { origin: url.origin, code: undefined, publisher: undefined };
  return { origin: url.origin, ...parseFragment(rest.join('#')) };
}

/** Finds the link in a command: it ends with its quotes, or else at the next space, as in a shell. Other texts stay as they are. */
function linkIn(text: string): string {
  const [, quote = '', link] = COMMAND.exec(text) ?? [];
  if (link === undefined) return text;
  return link.split(quote === '' ? /\s/ : quote, 1)[0] ?? '';
}

function parseFragment(text: string): Required<Pick<InvitationLink, 'code' | 'publisher'>> {
  const [typed = '', ...rest] = text.split('.');
  const publisher = rest.length === 0 ? undefined : rest.join('.');
  if (publisher !== undefined && !isKeyId(publisher))
    throw malformed('what stands behind the dot is not a root id: the link was cut');
  const code = normaliseCode(typed);
  if (code) return { code, publisher };
  throw new ReaderError('code-refused', 'what stands after # is not an invitation code: it has 16 letters and digits', {
    typed: true,
  });
}

/** Makes the error of a site without a key server. */
export function readInBrowser(origin: string): ReaderError {
  return new ReaderError(
    'read-in-browser',
    `${origin} is read in a browser, by the link of an invitation: no Reader can be connected`,
    { typed: true },
  );
}

function malformed(message: string): ReaderError {
  return new ReaderError('link-malformed', message, { typed: true });
}
