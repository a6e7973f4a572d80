/**
 * The link of an invitation, docs/spec/keys.md section 7: `ORIGIN#CODE.ROOT`, the key server's address, a one-time code, and the publisher's root
 * id. What stands behind `#` is never sent as part of a URL.
 */

import { isKeyId, type KeyId } from '../../core/crypto/key-id.ts';
import { normaliseCode } from '../../core/keys/binding.ts';
import { OPEN_PAGE } from '../../core/site/path.ts';
import { isOrigin } from '../../core/site/site.ts';
import { ReaderError } from '../errors.ts';

/** Where a browser takes invitations: in its address bar the code is gone. */
const BROWSER_PAGE_PATH = '/-/join';

export interface InvitationLink {
  /** Origin of the key server. */
  readonly keyServer: string;
  /** Left out to look at an existing connection again. */
  readonly code: string | undefined;
  /** The root id of the publisher that invites; links without one leave it to the hosts. */
  readonly publisher: KeyId | undefined;
}

/** The link as a part of a command, perhaps with what stands in front of that. */
const COMMAND = /^(?:.*\s)?bind\s+(["']?)(?=https?:)(.*)$/is;

/**
 * A link, or a command with one: invitations arrive as they were printed.
 *
 * @throws ReaderError `link-malformed`, `code-refused`; the message never holds the code
 */
export function parseInvitationLink(text: string): InvitationLink {
  const [address = '', ...rest] = linkIn(text.trim()).split('#');
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || url.username || url.password || url.search) throw malformed('that is not the link of an invitation');
  if (!isOrigin(url.origin, { allowLoopback: true }))
    throw malformed('the address of a key server begins with https://');
  if (url.pathname === BROWSER_PAGE_PATH) {
    throw new ReaderError(
      'link-malformed',
      'that is the page which an invitation opens in a browser; the link itself has # right after the address of the key server',
      {
        typed: true,
      },
    );
  }
  if (url.pathname === OPEN_PAGE) throw readInBrowser(url.origin);
  if (url.pathname !== '/') throw malformed('the address of a key server has no path');
  if (rest.length === 0) return { keyServer: url.origin, code: undefined, publisher: undefined };
  return { keyServer: url.origin, ...parseFragment(rest.join('#')) };
}

/** In quotes, a link ends with them; else at the next space, as in a shell. What is no command stays as it is. */
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

/** It takes a key server to connect a Reader. */
export function readInBrowser(origin: string): ReaderError {
  return new ReaderError(
    'read-in-browser',
    `${origin} is read in a browser, by the link of an invitation: no Reader can be connected`,
    {
      typed: true,
    },
  );
}

function malformed(message: string): ReaderError {
  return new ReaderError('link-malformed', message, {
    typed: true,
  });
}
