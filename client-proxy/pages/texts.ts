/** Texts of errors that no other reader has; those that documents meet stand in reading/refusals.ts. */
import { CodedError } from '../../core/errors.ts';
import type { ChannelErrorCode } from '../../core/httpcrypt/errors.ts';
import type { KeyErrorCode } from '../../core/keys/errors.ts';
import { OBJECT_ERRORS } from '../../core/object/errors.ts';
import { PUBLICATION_ERRORS } from '../../core/publication/errors.ts';
import { DAMAGED, REFUSALS, type Refusal } from '../../reading/refusals.ts';
import type { ReaderErrorCode } from '../errors.ts';
import type { PageAlert } from './template.ts';

export interface RefusalText extends Refusal {
  /** Words of the button to the Reader's own page. */
  readonly own?: string;
  /** Seconds after which the page looks again by itself: what keeps the document back passes without it. */
  readonly refresh?: number;
}

type Code = KeyErrorCode | ChannelErrorCode | ReaderErrorCode;

const MALFORMED: RefusalText = {
  title: 'The server gave an answer that makes no sense',
  lead: 'What it sent cannot be used. Try again in a few minutes.',
};
const KEY_TROUBLE: RefusalText = {
  title: 'The key for this page failed a check',
  lead: 'What the publisher’s server sent cannot be used. Try again in a few minutes, or connect again with a new invitation.',
};
const KEY_SERVER_SILENT: RefusalText = {
  title: 'The publisher’s server does not answer',
  lead: 'The key for this page is not on this device yet. Check your connection, and try again; what you have keys for can still be read.',
};
const HTTPCRYPT_FAILS: RefusalText = {
  title: 'The publisher’s server cannot be reached over HTTPCrypt',
  lead: 'You chose in the settings to fetch keys in this way, so none was fetched in another. Check the clock of this device, try another network, or change the setting.',
};
const OWN_FAULT: RefusalText = {
  status: 500,
  title: 'The Reader has a problem of its own',
  lead: 'Something went wrong on this device. Restart the Reader, and read what it prints.',
};
const REFUSED: RefusalText = {
  status: 403,
  title: 'The Reader does not do that',
  lead: 'This request was refused, to protect you and the sites you read.',
  way: 'none',
};

/** By code; what is not here is not expected on a page. */
const TEXTS: { readonly [code in Code]?: RefusalText } = {
  'wrapped-key-invalid': KEY_TROUBLE,
  'answer-unreadable': KEY_TROUBLE,
  'descriptor-expired': {
    title: 'The publisher’s description of this site is out of date',
    lead: 'A newer one could not be loaded. Check your connection and the clock of this device, and try again.',
  },
  'key-server-unreachable': KEY_SERVER_SILENT,
  'channel-key-refused': HTTPCRYPT_FAILS,
  'channel-unreadable': HTTPCRYPT_FAILS,
  'key-server-certificate': {
    ...KEY_SERVER_SILENT,
    title: 'The publisher’s server cannot prove its identity',
    lead: 'Its certificate is not valid, so no key was fetched. Check the clock of this device, or try another network.',
  },
  'key-server-answer': {
    ...KEY_SERVER_SILENT,
    title: 'The publisher’s server gave an answer that makes no sense',
  },
  'site-withdrawn': {
    title: 'The publisher no longer publishes this site',
    lead: 'You are connected with the publisher, but it does not list this site any more. Ask the publisher about it.',
  },
  'reader-locked': {
    status: 503,
    title: 'The Reader is locked',
    lead: 'It can’t open your sites until you unlock it; then this page comes back by itself.',
    own: 'Unlock the Reader',
    refresh: 3,
  },
  'reader-busy': {
    status: 503,
    title: 'The Reader is busy',
    lead: 'Too many programs have stopped reading what they asked for. Close them, or try again in a minute.',
  },
  'store-damaged': OWN_FAULT,
  'store-unusable': {
    status: 503,
    title: 'The Reader cannot use its database',
    lead: 'It was removed or replaced while the Reader was running, and unlocking does not help. Put its files back or restore a backup, then start the Reader again. As a service: systemctl --user restart wispr.service',
  },
  'store-unwritable': {
    status: 503,
    title: 'The Reader cannot write to its database',
    lead: 'Nothing was changed. Check that its disk and folder can be written, and try again. The Reader need not be restarted.',
  },
  'disk-full': {
    status: 507,
    title: 'The disk of this device is full',
    lead: 'There is no room for what the Reader has to keep. Nothing was changed. Make room, and try again. The Reader need not be restarted.',
  },
  internal: OWN_FAULT,
  'bad-request': {
    ...REFUSED,
    status: 400,
    title: 'The request is malformed',
    lead: 'It is not valid HTTP/1.1, or asks for an address other than http://.',
  },
  'method-refused': {
    ...REFUSED,
    status: 405,
    title: 'Pages of this site can only be read',
    lead: 'Forms, uploads and service workers do not work on a published site.',
  },
  'cross-site': {
    ...REFUSED,
    title: 'Another site requested this page',
    lead: 'Other sites can neither load pages in the Reader nor send forms to it. Open the address in a tab of its own.',
  },
  'other-user': {
    ...REFUSED,
    title: 'This Reader belongs to another user',
    lead: 'It serves only the user of this device who started it. Start a Reader of your own, on another port.',
  },
  'host-unknown': {
    ...REFUSED,
    title: 'The Reader does not know this address',
    lead: 'No connected site has this name. It may have been disconnected.',
    own: 'Your sites',
  },
  'form-malformed': {
    ...REFUSED,
    status: 400,
    title: 'The form did not arrive correctly',
    lead: 'Nothing was changed. The Reader may have been restarted in the meantime: open the page again, and fill in the form once more.',
  },
  'page-unknown': {
    ...REFUSED,
    status: 404,
    title: 'The Reader has no such page',
    lead: 'There is nothing at this address.',
  },
  'local-refused': {
    ...REFUSED,
    title: 'This address is in your own network',
    lead: 'Web pages could use the Reader to reach your devices, so this is refused. If you opened it yourself, tell the browser not to use the proxy for this address, or start the Reader with --allow-local.',
  },
  'port-refused': {
    ...REFUSED,
    title: 'The Reader makes no connections to this port',
    lead: 'It is not for reading, or would bypass the checks of a connected site. Open the address without the number after the name.',
  },
  loop: {
    ...REFUSED,
    status: 508,
    title: 'The request would come back to the Reader',
    lead: 'The address leads to this program itself.',
  },
  'host-unreachable': {
    title: 'The site does not answer',
    lead: 'Check the address for a missing or extra letter, and your connection, and try again.',
  },
  'host-answer': MALFORMED,
  'parent-proxy-unreachable': {
    title: 'The parent proxy does not answer',
    lead: 'The Reader goes through another proxy, which is down, does not speak HTTP, or did not accept its name and password. The site may well be up. Check that proxy in the Reader’s settings or in --parent-proxy, or remove it there.',
  },
};

/** What went wrong with a form, on the page that shows it again. */
export interface ProblemText {
  readonly text: string;
  readonly hint?: string;
}

/** Words of a form, or else of a page, for an error. @throws errors without a code: faults of this program */
export function alertFor(error: unknown, problems: Readonly<Record<string, ProblemText>>): PageAlert {
  if (!(error instanceof CodedError)) throw error;
  const { code, message } = error;
  const { title, lead } = refusalText(code);
  return { ...(problems[code] ?? { text: `${title}.`, hint: lead }), code, detail: message };
}

/** The text for a code. */
export function refusalText(code: string): RefusalText {
  const text = (TEXTS as Record<string, RefusalText | undefined>)[code] ?? REFUSALS[code];
  return text ?? (code in OBJECT_ERRORS || code in PUBLICATION_ERRORS ? DAMAGED : OWN_FAULT);
}

/** Texts for the test of their words. */
export const REFUSAL_TEXTS: readonly RefusalText[] = Object.values(TEXTS);
