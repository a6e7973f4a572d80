/**
 * What the pages say in place of a document that cannot be shown: what happened and what to do, in about thirty words. By error code; the message
 * of the error is shown as the detail.
 */
import { CodedError } from '../../core/errors.ts';
import type { KeyErrorCode } from '../../core/keys/errors.ts';
import type { ObjectErrorCode } from '../../core/object/errors.ts';
import type { PublicationErrorCode } from '../../core/publication/errors.ts';
import type { ReadingErrorCode } from '../../core/reading/errors.ts';
import type { ReaderErrorCode } from '../errors.ts';
import type { PageAlert } from './template.ts';

export interface RefusalText {
  /** HTTP status of the page. Default: 502. */
  readonly status?: number;
  readonly title: string;
  readonly lead: string;
  readonly advice: readonly string[];
  /** Comes first, where the address of the Reader's own page is known: as text, because refusals never link to that page. */
  readonly adviceAt?: (page: string) => string;
  /** The reading site would refuse, too: the page has no link to it. */
  readonly sameOnReadingSite?: true;
  /** Comes last, where the address of the first page of the site is known: as text, too. */
  readonly firstPage?: (address: string) => string;
}

type Code = ObjectErrorCode | PublicationErrorCode | ReadingErrorCode | KeyErrorCode | ReaderErrorCode;

const RELOAD = 'Reload the page.';
const TRY_LATER = 'Try again in a few minutes.';
const TELL_PUBLISHER = 'If it happens again, tell the publisher the code below.';
const CHECK_CONNECTION = 'Check your connection.';
const CHECK_CLOCK = 'Check the clock of this computer.';
const OTHER_NETWORK = 'Try another network.';
const NO_RESTART = 'The Reader need not be restarted.';

const CHANGED: RefusalText = {
  title: 'This page is not what the publisher signed',
  lead: 'It was changed or mixed up on its way to you, so it is not shown.',
  advice: [RELOAD, OTHER_NETWORK, TELL_PUBLISHER],
};
const NOT_A_DOCUMENT: RefusalText = {
  title: 'A server on the way sent something else',
  lead: 'On this site only what the publisher signed is shown, and the answer was not that.',
  advice: [RELOAD, TRY_LATER, TELL_PUBLISHER],
};
const LIST_CHANGED: RefusalText = {
  title: 'The page list of this site is not what the publisher signed',
  lead: 'It was changed or mixed up on its way to you. Without it no page can be checked, so none is shown.',
  advice: [RELOAD, OTHER_NETWORK, TELL_PUBLISHER],
};
const LIST_MISSING: RefusalText = {
  title: 'The page list for this site could not be loaded',
  lead: 'Without the publisher’s signed list no page can be checked, so none is shown.',
  advice: [CHECK_CONNECTION, TRY_LATER, TELL_PUBLISHER],
};
const LIST_OLD: RefusalText = {
  title: 'This site has not been confirmed for too long',
  lead: 'The publisher has not confirmed this site recently enough, so it may be out of date.',
  advice: [CHECK_CONNECTION, CHECK_CLOCK, TELL_PUBLISHER],
};
const UNREACHABLE: RefusalText = {
  title: 'The server with this page does not answer',
  lead: 'It could not be reached.',
  advice: [CHECK_CONNECTION, TRY_LATER],
};
const MALFORMED: RefusalText = {
  ...UNREACHABLE,
  title: 'The server gave a malformed answer',
  lead: 'What it sent cannot be used.',
};
const NO_ACCESS: RefusalText = {
  status: 403,
  title: 'Your subscription does not include this page',
  lead: 'The page arrived, but you have no key for it.',
  advice: ['If you have just subscribed, wait a minute and reload.', 'Otherwise ask the publisher.'],
  sameOnReadingSite: true,
};
const KEY_TROUBLE: RefusalText = {
  title: 'The key for this page failed a check',
  lead: 'The publisher’s server sent a key that is not usable. It was not kept.',
  advice: [TRY_LATER, 'Connect again with a new invitation.', TELL_PUBLISHER],
};
const KEY_SERVER_SILENT: RefusalText = {
  title: 'The publisher’s key server does not answer',
  lead: 'The key for this page is not on this computer yet. Pages that you have keys for can still be read.',
  advice: [CHECK_CONNECTION, TRY_LATER],
};
const NO_SUCH_DOCUMENT: RefusalText = {
  status: 404,
  title: 'There is no such page',
  lead: 'No page in the publisher’s signed list has this address.',
  advice: ['Check the address for a missing or extra letter.'],
  sameOnReadingSite: true,
  firstPage: (address) => `Or start from the front page: ${address}`,
};
const OWN_FAULT: RefusalText = {
  status: 500,
  title: 'The Reader has a problem of its own',
  lead: 'Something went wrong on this computer, so nothing is shown.',
  advice: ['Restart the Reader, and read what it prints.'],
};
const REFUSED: RefusalText = {
  status: 403,
  title: 'The Reader does not do that',
  lead: 'This request was refused, to protect you and the sites you read.',
  advice: [],
};

/** By code; what is not here is not expected on a page. */
const TEXTS: { readonly [code in Code]?: RefusalText } = {
  'object-unrecognised': NOT_A_DOCUMENT,
  'object-version': {
    title: 'This page needs a newer Reader',
    lead: 'Its format is newer than this version of wispr.',
    advice: ['Update wispr.'],
  },
  'header-invalid': CHANGED,
  'object-truncated': {
    title: 'This page did not arrive complete',
    lead: 'A server on the way sent only a part of it.',
    advice: [RELOAD, TELL_PUBLISHER],
  },
  'publisher-unexpected': {
    ...CHANGED,
    title: 'Another publisher signed this page',
    lead: 'You are connected with a different publisher for this site, so the page is not shown.',
  },
  'signature-invalid': CHANGED,
  'block-digest': CHANGED,
  'site-mismatch': CHANGED,
  'path-mismatch': CHANGED,
  'key-missing': NO_ACCESS,
  'key-not-valid-now': {
    status: 403,
    title: 'Your key for this page is not valid now',
    lead: 'Keys are valid for a limited time. This one has expired, or is not valid yet.',
    advice: [CHECK_CLOCK, 'Renew your subscription, or ask the publisher.'],
  },
  'key-id-mismatch': KEY_TROUBLE,
  'payload-invalid': CHANGED,
  'object-trailing': CHANGED,
  'path-refused': {
    status: 404,
    title: 'No page has an address like this',
    lead: 'Every page has exactly one spelling of its address, and this is none of them.',
    advice: ['Check the link for doubled slashes, dots or unusual characters.'],
  },
  'no-such-document': NO_SUCH_DOCUMENT,
  'metadata-too-large': LIST_CHANGED,
  'metadata-malformed': LIST_CHANGED,
  'metadata-signature': LIST_CHANGED,
  'metadata-mismatch': LIST_CHANGED,
  'metadata-rollback': {
    ...LIST_CHANGED,
    title: 'An older version of this site was offered',
    lead: 'This computer has seen a newer one, so a server on the way has an old copy. It is not shown.',
  },
  'metadata-missing': LIST_MISSING,
  'metadata-expired': LIST_OLD,
  'publication-expired': LIST_OLD,
  'publication-withdrawn': {
    title: 'The publisher has withdrawn this site for now',
    lead: 'It asked readers not to show the current version, and has not published a new one yet.',
    advice: [TRY_LATER],
    sameOnReadingSite: true,
  },
  'root-unexpected': {
    ...LIST_CHANGED,
    title: 'This site is signed by someone else',
    lead: 'Its keys are not those of the publisher that you connected with, so nothing is shown.',
    advice: [OTHER_NETWORK, TELL_PUBLISHER],
  },
  'settings-malformed': {
    ...LIST_CHANGED,
    title: 'This Reader does not understand the settings of this site',
    lead: 'They are malformed, or for a newer Reader.',
    advice: ['Update wispr.', TELL_PUBLISHER],
  },
  'head-unexpected': NOT_A_DOCUMENT,
  'object-missing': {
    ...UNREACHABLE,
    title: 'The server does not have this page',
    lead: 'The page is in the publisher’s signed list, but the server that should have it does not.',
    advice: [TRY_LATER, TELL_PUBLISHER],
  },
  'content-host-answer': MALFORMED,
  'content-host-unreachable': UNREACHABLE,
  'wrapped-key-invalid': KEY_TROUBLE,
  'answer-unreadable': KEY_TROUBLE,
  'descriptor-expired': {
    title: 'The publisher’s signed description has expired',
    lead: 'A newer one could not be loaded.',
    advice: [CHECK_CONNECTION, CHECK_CLOCK, TELL_PUBLISHER],
  },
  'not-entitled': NO_ACCESS,
  lapsed: {
    ...NO_ACCESS,
    title: 'Your subscription has ended',
    advice: ['Renew it with the publisher.'],
  },
  revoked: {
    ...NO_ACCESS,
    title: 'This device is disconnected',
    lead: 'The publisher no longer gives it keys.',
    advice: ['Ask the publisher for a new invitation.'],
  },
  'clock-off': {
    title: 'The clock of this computer is wrong',
    lead: 'It is more than five minutes off, so neither keys nor the page list of this site can be trusted.',
    advice: ['Set the clock, and reload.'],
  },
  'key-server-unreachable': KEY_SERVER_SILENT,
  'key-server-certificate': {
    ...KEY_SERVER_SILENT,
    title: 'The publisher’s key server cannot prove its identity',
    lead: 'Its certificate is not valid, so no key was fetched.',
    advice: [CHECK_CLOCK, OTHER_NETWORK, TELL_PUBLISHER],
  },
  'key-server-answer': { ...KEY_SERVER_SILENT, title: 'The publisher’s key server gave a malformed answer' },
  'site-withdrawn': {
    title: 'The publisher no longer publishes this site',
    lead: 'You are connected with a publisher for this site, but its signed description does not list the site any more.',
    advice: [TELL_PUBLISHER],
  },
  'reader-locked': {
    status: 503,
    title: 'The Reader is locked',
    lead: 'It can’t open your sites until you unlock it.',
    advice: ['Then come back here and reload this page.'],
    adviceAt: (page) => `Open ${page} in another tab and unlock it there, or type "wispr identity unlock".`,
    sameOnReadingSite: true,
  },
  'reader-busy': {
    status: 503,
    title: 'The Reader is busy',
    lead: 'Too many documents are being sent to programs that have stopped reading them.',
    advice: ['Reload this page in a minute.', 'If it happens again, close those programs.'],
  },
  'store-damaged': OWN_FAULT,
  'store-unusable': {
    status: 503,
    title: 'The Reader cannot use its database',
    lead: 'The database with its keys and your sites was removed or replaced while the Reader was running. Unlocking does not help.',
    advice: [
      'If its files were moved, move them back, and unlock the Reader. If they were erased, restore a backup first.',
      'Stop the Reader, and start it again. As a service: systemctl --user restart wispr.service',
    ],
  },
  'store-unwritable': {
    status: 503,
    title: 'The Reader cannot write to its database',
    lead: 'Nothing was changed.',
    advice: [`Check that its disk and folder can be written, and try again. ${NO_RESTART}`],
  },
  'disk-full': {
    status: 507,
    title: 'The disk of this computer is full',
    lead: 'There is no room for what the Reader has to keep. Nothing was changed.',
    advice: [`Make room on the disk, and try again. ${NO_RESTART}`],
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
    lead: 'Pages in the Reader can be opened by a link, but other sites can neither load them nor send forms to it.',
    advice: ['Open the address in a tab of its own.'],
  },
  'other-user': {
    ...REFUSED,
    title: 'This Reader belongs to another user',
    lead: 'It serves only the user of this computer who started it.',
    advice: ['Start a Reader of your own, on another port.'],
  },
  'host-unknown': {
    ...REFUSED,
    title: 'The Reader does not know this address',
    lead: 'No connected site has this name. It may have been disconnected.',
    adviceAt: (page) => `Open ${page} to see your sites and their addresses.`,
  },
  'form-malformed': {
    ...REFUSED,
    status: 400,
    title: 'The form did not arrive correctly',
    lead: 'Nothing was changed. The Reader may have been restarted in the meantime.',
    advice: ['Open the page again, and fill in the form once more.'],
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
    lead: 'Web pages could use the Reader to reach this computer or devices near it, so such connections are refused.',
    advice: [
      'If you did not open it yourself, do nothing: a page tried to reach your devices.',
      'If you did, tell the browser not to use the proxy for this address, or start the Reader with --allow-local.',
    ],
  },
  'port-refused': {
    ...REFUSED,
    title: 'The Reader makes no connections to this port',
    lead: 'It is not for reading, or would bypass the checks of a connected site.',
    advice: ['Open the address without the number after the name.'],
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
    advice: ['Check the address for a missing or extra letter.', CHECK_CONNECTION, TRY_LATER],
  },
  'host-answer': MALFORMED,
  'parent-proxy-unreachable': {
    title: 'The parent proxy does not answer',
    lead: 'The Reader is set to go through another proxy, which is down, does not speak HTTP, or did not accept its name and password. The site may well be up.',
    advice: ['Check that proxy and its address, in the Reader’s settings or in --parent-proxy, or remove it there.'],
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
  const { title, advice } = refusalText(code);
  return { ...(problems[code] ?? { text: `${title}.`, hint: advice.join(' ') }), code, detail: message };
}

/** The text for a code. */
export function refusalText(code: string): RefusalText {
  return (TEXTS as Record<string, RefusalText | undefined>)[code] ?? OWN_FAULT;
}

/**
 * For a missing page while it is unknown whether a newer publication has it. The reading site may know.
 *
 * @param confirmed - how long ago the publication at hand was last confirmed
 * @param failed - code of what the check for a newer one met; `undefined` while that check is running
 */
export function missingSoFarText(confirmed: string, failed: string | undefined): RefusalText {
  const { sameOnReadingSite: _, advice, ...text } = NO_SUCH_DOCUMENT;
  const isRunning = failed === undefined;
  const check = isRunning
    ? 'The Reader is checking for a newer version.'
    : `The Reader could not check for a newer version: ${refusalText(failed).title}.`;
  return {
    ...text,
    title: 'There is no such page so far',
    lead: `${text.lead} The list was last confirmed ${confirmed}. ${check}`,
    advice: [isRunning ? 'Reload this page in a moment.' : 'Check your connection, and reload this page.', ...advice],
  };
}
