/**
 * What the pages say in place of a document that cannot be shown: what happened and what to do, in about thirty words, and one way on. By error
 * code; the message of the error is folded away for the publisher.
 */
import { CodedError } from '../../core/errors.ts';
import type { ChannelErrorCode } from '../../core/httpcrypt/errors.ts';
import type { KeyErrorCode } from '../../core/keys/errors.ts';
import type { ObjectErrorCode } from '../../core/object/errors.ts';
import type { PublicationErrorCode } from '../../core/publication/errors.ts';
import type { ReadingErrorCode } from '../../core/reading/errors.ts';
import type { ReaderErrorCode } from '../errors.ts';
import type { PageAlert } from './template.ts';

/**
 * Where the one button leads: the same address `again`, the `front` page of the site, or where people `subscribe`; the account on the reading
 * site, where the publisher names no such address. Never to what is refused for the same reason.
 */
export type WayOn = 'again' | 'front' | 'subscribe' | 'none';

export interface RefusalText {
  /** HTTP status of the page. Default: 502. */
  readonly status?: number;
  readonly title: string;
  /** What happened, and what to do. */
  readonly lead: string;
  /** Follows, where the address of the Reader's own page is known: as text, because refusals never link to that page. */
  readonly at?: (page: string) => string;
  /** Default: `again`. */
  readonly way?: WayOn;
  /** The reading site would refuse, too: the page has no link to it. */
  readonly sameOnReadingSite?: true;
  /** Seconds after which the page looks again by itself: what keeps the document back passes without it. */
  readonly refresh?: number;
}

type Code =
  | ObjectErrorCode
  | PublicationErrorCode
  | ReadingErrorCode
  | KeyErrorCode
  | ChannelErrorCode
  | ReaderErrorCode;

const CHANGED: RefusalText = {
  title: 'This page arrived damaged',
  lead: 'It was changed or mixed up on its way to you, so it is not shown. Trying again usually helps; so does another network.',
};
const NOT_A_DOCUMENT: RefusalText = {
  title: 'A server on the way sent something else',
  lead: 'On this site only what the publisher signed is shown, and this was not it. Try again in a few minutes.',
};
const LIST_CHANGED: RefusalText = {
  title: 'The list of pages arrived damaged',
  lead: 'Without the publisher’s signed list no page of this site can be checked, so none is shown. Trying again usually helps.',
};
const LIST_MISSING: RefusalText = {
  title: 'The list of pages could not be loaded',
  lead: 'Without the publisher’s signed list no page of this site can be checked. Check your connection, and try again.',
};
const LIST_OLD: RefusalText = {
  title: 'This site may be out of date',
  lead: 'The publisher normally confirms every hour that nothing is missing. It hasn’t for too long. Check your connection, and the clock of this computer.',
};
const UNREACHABLE: RefusalText = {
  title: 'The server with this page does not answer',
  lead: 'Check your connection, and try again in a few minutes.',
};
const MALFORMED: RefusalText = {
  title: 'The server gave an answer that makes no sense',
  lead: 'What it sent cannot be used. Try again in a few minutes.',
};
const NO_ACCESS: RefusalText = {
  status: 403,
  title: 'Your subscription does not include this page',
  lead: 'If you have just subscribed, reload this page in a minute. Otherwise ask the publisher.',
  way: 'subscribe',
  sameOnReadingSite: true,
};
const KEY_TROUBLE: RefusalText = {
  title: 'The key for this page failed a check',
  lead: 'What the publisher’s server sent cannot be used. Try again in a few minutes, or connect again with a new invitation.',
};
const KEY_SERVER_SILENT: RefusalText = {
  title: 'The publisher’s server does not answer',
  lead: 'The key for this page is not on this computer yet. Check your connection, and try again; what you have keys for can still be read.',
};
const HTTPCRYPT_FAILS: RefusalText = {
  ...KEY_SERVER_SILENT,
  title: 'The publisher’s server cannot be reached over HTTPCrypt',
  lead: 'You chose in the settings to fetch keys in this way, so none was fetched in another. Check the clock of this computer, try another network, or change the setting.',
};
const NO_SUCH_DOCUMENT: RefusalText = {
  status: 404,
  title: 'There is no such page',
  lead: 'Check the address for a missing or extra letter, or start from the front page.',
  way: 'front',
  sameOnReadingSite: true,
};
const OWN_FAULT: RefusalText = {
  status: 500,
  title: 'The Reader has a problem of its own',
  lead: 'Something went wrong on this computer. Restart the Reader, and read what it prints.',
};
const REFUSED: RefusalText = {
  status: 403,
  title: 'The Reader does not do that',
  lead: 'This request was refused, to protect you and the sites you read.',
  way: 'none',
};

/** By code; what is not here is not expected on a page. */
const TEXTS: { readonly [code in Code]?: RefusalText } = {
  'object-unrecognised': NOT_A_DOCUMENT,
  'object-version': {
    title: 'This page needs a newer Reader',
    lead: 'Update wispr on this computer.',
    way: 'none',
  },
  'header-invalid': CHANGED,
  'object-truncated': {
    title: 'This page did not arrive complete',
    lead: 'A server on the way sent only a part of it. Trying again usually helps.',
  },
  'publisher-unexpected': {
    ...CHANGED,
    title: 'Another publisher signed this page',
    lead: 'You are connected with a different publisher for this site, so the page is not shown. Try another network.',
  },
  'signature-invalid': CHANGED,
  'block-digest': CHANGED,
  'site-mismatch': CHANGED,
  'path-mismatch': CHANGED,
  'key-missing': NO_ACCESS,
  'key-not-valid-now': {
    status: 403,
    title: 'Your key for this page is not valid now',
    lead: 'Keys are valid for a limited time. Check the clock of this computer; if it is right, renew your subscription.',
    way: 'subscribe',
  },
  'key-id-mismatch': KEY_TROUBLE,
  'payload-invalid': CHANGED,
  'object-trailing': CHANGED,
  'path-refused': {
    status: 404,
    title: 'No page has an address like this',
    lead: 'Check the link for doubled slashes, dots or unusual characters, or start from the front page.',
    way: 'front',
  },
  'no-such-document': NO_SUCH_DOCUMENT,
  'metadata-too-large': LIST_CHANGED,
  'metadata-malformed': LIST_CHANGED,
  'metadata-signature': LIST_CHANGED,
  'metadata-mismatch': LIST_CHANGED,
  'metadata-rollback': {
    ...LIST_CHANGED,
    title: 'An older version of this site was offered',
    lead: 'This computer has seen a newer one, so a server on the way has an old copy. It is not shown. Try again in a few minutes.',
  },
  'metadata-missing': LIST_MISSING,
  'metadata-expired': LIST_OLD,
  'publication-expired': LIST_OLD,
  'publication-withdrawn': {
    title: 'The publisher has taken this site down for now',
    lead: 'Nothing is shown until it publishes again.',
    sameOnReadingSite: true,
  },
  'root-unexpected': {
    ...LIST_CHANGED,
    title: 'This site is signed by someone else',
    lead: 'Its keys are not those of the publisher that you connected with, so nothing is shown. Try another network.',
  },
  'settings-malformed': {
    ...LIST_CHANGED,
    title: 'This Reader does not understand this site',
    lead: 'What it says of itself is malformed, or for a newer Reader. Update wispr, and try again.',
  },
  'head-unexpected': NOT_A_DOCUMENT,
  'object-missing': {
    ...UNREACHABLE,
    title: 'The server does not have this page',
    lead: 'The publisher’s signed list has it, so it should be there. Try again in a few minutes.',
  },
  'content-host-answer': MALFORMED,
  'content-host-unreachable': UNREACHABLE,
  'wrapped-key-invalid': KEY_TROUBLE,
  'answer-unreadable': KEY_TROUBLE,
  'descriptor-expired': {
    title: 'The publisher’s description of this site is out of date',
    lead: 'A newer one could not be loaded. Check your connection and the clock of this computer, and try again.',
  },
  'not-entitled': NO_ACCESS,
  lapsed: {
    ...NO_ACCESS,
    title: 'Your subscription has ended',
    lead: 'Renew it with the publisher, then reload this page.',
  },
  revoked: {
    ...NO_ACCESS,
    title: 'This device is disconnected',
    lead: 'The publisher gives it no keys any more. Ask the publisher for a new invitation.',
  },
  'clock-off': {
    title: 'The clock of this computer is wrong',
    lead: 'It is more than five minutes off, so nothing can be checked. Set it, and try again.',
  },
  'key-server-unreachable': KEY_SERVER_SILENT,
  'channel-key-refused': HTTPCRYPT_FAILS,
  'channel-unreadable': HTTPCRYPT_FAILS,
  'key-server-certificate': {
    ...KEY_SERVER_SILENT,
    title: 'The publisher’s server cannot prove its identity',
    lead: 'Its certificate is not valid, so no key was fetched. Check the clock of this computer, or try another network.',
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
    at: (page) => `Open ${page} in another tab and unlock it there, or type "wispr identity unlock".`,
    way: 'none',
    sameOnReadingSite: true,
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
    title: 'The disk of this computer is full',
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
    lead: 'It serves only the user of this computer who started it. Start a Reader of your own, on another port.',
  },
  'host-unknown': {
    ...REFUSED,
    title: 'The Reader does not know this address',
    lead: 'No connected site has this name. It may have been disconnected.',
    at: (page) => `Open ${page} to see your sites and their addresses.`,
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
    ...UNREACHABLE,
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

/**
 * What a form says of an error.
 *
 * @param problems - texts of this form, by code; where there is none, it says what a page of a document would say
 * @throws errors without a code, which are faults of this program
 */
export function alertFor(error: unknown, problems: Readonly<Record<string, ProblemText>>): PageAlert {
  if (!(error instanceof CodedError)) throw error;
  const { code, message } = error;
  const { title, lead } = refusalText(code);
  return { ...(problems[code] ?? { text: `${title}.`, hint: lead }), code, detail: message };
}

/** The text for a code. */
export function refusalText(code: string): RefusalText {
  return (TEXTS as Record<string, RefusalText | undefined>)[code] ?? OWN_FAULT;
}

/**
 * For a missing page while it is unknown whether a newer list of pages has it. The reading site may know.
 *
 * @param age - how long ago the list at hand was up to date
 * @param failed - code of what the look for a newer one met; `undefined` while it is under way
 */
export function missingSoFarText(age: string, failed: string | undefined): RefusalText {
  const { sameOnReadingSite: _, ...text } = NO_SUCH_DOCUMENT;
  const check =
    failed === undefined
      ? 'The Reader is looking for a newer one. Try again in a moment.'
      : `A newer one could not be loaded: ${refusalText(failed).title}. Check your connection, and try again.`;
  return {
    ...text,
    title: 'There is no such page so far',
    lead: `The publisher’s list of pages was up to date ${age}. ${check}`,
    way: 'again',
  };
}

/** Everything that pages say in place of a document, for the test of their words. */
export const REFUSAL_TEXTS: readonly RefusalText[] = [
  ...Object.values(TEXTS),
  missingSoFarText('just now', undefined),
  missingSoFarText('just now', 'metadata-missing'),
];
