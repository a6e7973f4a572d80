/**
 * What the Reader's pages say. Plain words: what it means for whoever wanted to read something, and what they can do. Keyed by error
 * code; the message of the error itself is shown as the detail.
 */
import type { KeyErrorCode } from '../../core/keys/errors.ts';
import type { ObjectErrorCode } from '../../core/object/errors.ts';
import type { PublicationErrorCode } from '../../core/publication/errors.ts';
import type { ReadingErrorCode } from '../../core/reading/errors.ts';
import type { ReaderErrorCode } from '../errors.ts';

export interface RefusalText {
  /** HTTP status of the page. */
  readonly status: number;
  readonly title: string;
  readonly lead: string;
  readonly advice: readonly string[];
  /** Comes first, where the address of the Reader's own page is known: a text, because nothing leads from such pages to that one. */
  readonly adviceAt?: (page: string) => string;
  /** The reading site has the same to say: the page does not lead there. */
  readonly sameOnReadingSite?: true;
  /** Comes last, where the address of the first page of the site is known: a text, too. */
  readonly firstPage?: (address: string) => string;
}

type Code = ObjectErrorCode | PublicationErrorCode | ReadingErrorCode | KeyErrorCode | ReaderErrorCode;

const ASK_PUBLISHER = 'If it stays like this, tell the publisher, with the code below.';
const TRY_LATER = 'Try again in a few minutes.';

const CHANGED: RefusalText = {
  status: 502,
  title: 'This page is not what the publisher signed',
  lead: 'It was changed or mixed up on its way to you, so nothing of it is shown.',
  advice: [
    'Reload the page: the fault may be a passing one.',
    'Another network may bring the right page.',
    ASK_PUBLISHER,
  ],
};

const NOT_A_DOCUMENT: RefusalText = {
  status: 502,
  title: 'The content host sent something else',
  lead: 'On this site only what the publisher signed is shown, and the answer was not that. Nothing of it is shown.',
  advice: ['Check the address: the page may not exist.', TRY_LATER, ASK_PUBLISHER],
};

const INCOMPLETE: RefusalText = {
  status: 502,
  title: 'This page did not arrive whole',
  lead: 'The content host, or a cache on the way, sent only a part.',
  advice: ['Reload the page.', ASK_PUBLISHER],
};

const MISSING: RefusalText = {
  status: 502,
  title: 'The content host does not have this page',
  lead: 'The publisher signed that there is such a page, but the computer that should carry it does not have it.',
  advice: [TRY_LATER, ASK_PUBLISHER],
};

const LIST_CHANGED: RefusalText = {
  status: 502,
  title: 'The list of this site’s pages is not what the publisher signed',
  lead: 'Before any page, the Reader checks the publisher’s signed list of all of them. What came is not that list, so nothing is shown.',
  advice: [
    'Reload the page: the fault may be a passing one.',
    'Another network may bring the right list.',
    ASK_PUBLISHER,
  ],
};

const LIST_MISSING: RefusalText = {
  status: 502,
  title: 'The list of this site’s pages could not be had',
  lead: 'Before any page, the Reader checks the publisher’s signed list of all of them. Nobody has it at the moment.',
  advice: ['Check your connection.', TRY_LATER, ASK_PUBLISHER],
};

const LIST_OLD: RefusalText = {
  status: 502,
  title: 'This site has not been confirmed for too long',
  lead: 'Its publisher says again and again that what you see is what it published last. It has not said so for longer than it allows itself, so nothing is shown: it could be out of date without anybody knowing.',
  advice: ['Check your connection: a newer word may be waiting.', 'Check the clock of this computer.', ASK_PUBLISHER],
};

const UNREACHABLE: RefusalText = {
  status: 502,
  title: 'The content host does not answer',
  lead: 'The computer that carries this page could not be reached.',
  advice: ['Check your connection.', TRY_LATER],
};

const NO_ACCESS: RefusalText = {
  status: 403,
  title: 'Your subscription does not include this page',
  lead: 'The page arrived, but the key that opens it is not among yours.',
  advice: ['If it should be, ask the publisher.', 'If you have just subscribed, wait a minute and reload.'],
};

const NOT_NOW: RefusalText = {
  status: 403,
  title: 'Your key for this page is not valid now',
  lead: 'Keys are given for a time. This one has ended, or has not begun.',
  advice: ['Check the clock of this computer.', 'Renew your subscription, or ask the publisher.'],
};

const KEY_TROUBLE: RefusalText = {
  status: 502,
  title: 'The key server sent no usable key',
  lead: 'A key came that failed a check. It was dropped, and no copy was kept.',
  advice: [TRY_LATER, 'Connect again with a new invitation.', ASK_PUBLISHER],
};

const KEY_SERVER_SILENT: RefusalText = {
  status: 502,
  title: 'The key server does not answer',
  lead: 'The key for this page is not on this computer yet, and could not be fetched.',
  advice: ['Check your connection. Pages whose keys you have can still be read.', TRY_LATER],
};

const NO_SUCH_DOCUMENT: RefusalText = {
  status: 404,
  title: 'There is no such page',
  lead: 'The publisher signed a list of all pages of this site, and none has this address.',
  advice: ['Check the address: a letter may be missing, or one too many.'],
  sameOnReadingSite: true,
  firstPage: (address) => `Or start from the first page of the site: ${address}`,
};

const OWN_FAULT: RefusalText = {
  status: 500,
  title: 'The Reader has a problem of its own',
  lead: 'Something went wrong on this computer, so nothing is shown.',
  advice: ['Restart the Reader, and look at what it says.'],
};

const DISK_FULL: RefusalText = {
  status: 507,
  title: 'The disk of this computer is full',
  lead: 'The Reader would have to keep something for this, and there is no room for it. Nothing was changed.',
  advice: ['Make room on the disk, and try again. The Reader need not be restarted for it.'],
};

const REFUSED: RefusalText = {
  status: 403,
  title: 'The Reader does not do that',
  lead: 'This request was refused, to protect you and the sites you read.',
  advice: [],
};

/** By code; what is not here was not foreseen on a page. */
const TEXTS: { readonly [code in Code]?: RefusalText } = {
  'object-unrecognised': NOT_A_DOCUMENT,
  'object-version': {
    status: 502,
    title: 'This page needs a newer Reader',
    lead: 'The publisher uses a format that this version does not know.',
    advice: ['Update wispr.'],
  },
  'head-length': CHANGED,
  'object-truncated': INCOMPLETE,
  'header-not-canonical': CHANGED,
  'header-invalid': CHANGED,
  'publisher-unexpected': {
    ...CHANGED,
    title: 'Another publisher signed this page',
    lead: 'You are connected with one publisher for this site, and this page was signed by another. Nothing of it is shown.',
  },
  'signature-invalid': CHANGED,
  'digest-list': CHANGED,
  'site-mismatch': CHANGED,
  'path-mismatch': CHANGED,
  'key-missing': NO_ACCESS,
  'key-not-valid-now': NOT_NOW,
  'key-id-mismatch': KEY_TROUBLE,
  commitment: CHANGED,
  'block-digest': CHANGED,
  'chunk-tag': CHANGED,
  'metadata-invalid': CHANGED,
  'object-trailing': CHANGED,
  'carrier-malformed': CHANGED,
  'path-refused': {
    status: 404,
    title: 'No page has an address like this',
    lead: 'The address is written in a way that is never used, so that every page has one address only.',
    advice: ['Check the link for doubled slashes, dots or odd characters.'],
  },
  'no-such-document': NO_SUCH_DOCUMENT,
  'metadata-too-large': LIST_CHANGED,
  'metadata-malformed': LIST_CHANGED,
  'metadata-signature': LIST_CHANGED,
  'metadata-mismatch': LIST_CHANGED,
  'metadata-rollback': {
    ...LIST_CHANGED,
    title: 'An older state of this site was offered',
    lead: 'You have seen a newer one before, so somebody between you and the publisher holds an old copy. Nothing of it is shown.',
  },
  'metadata-missing': LIST_MISSING,
  'metadata-expired': LIST_OLD,
  'publication-expired': LIST_OLD,
  'publication-withdrawn': {
    status: 502,
    title: 'The publisher has taken this edition back',
    lead: 'It told all readers not to show what it published last, and has not published anything newer yet.',
    advice: [TRY_LATER],
    sameOnReadingSite: true,
  },
  'root-unexpected': {
    ...LIST_CHANGED,
    title: 'Somebody else speaks for this site',
    lead: 'The keys at the root of this site are not those of the publisher that you connected with. Nothing is shown.',
    advice: ['Try another network.', ASK_PUBLISHER],
  },
  'clock-behind': {
    status: 502,
    title: 'The clock of this computer is behind',
    lead: 'The publisher confirmed this site at a time that has not come yet, by this computer’s clock.',
    advice: ['Set the clock, and reload.'],
  },
  'settings-malformed': {
    ...LIST_CHANGED,
    title: 'This site says something that this Reader does not understand',
    lead: 'The publisher signed settings of the site that are malformed, or for a newer Reader.',
    advice: ['Update wispr.', ASK_PUBLISHER],
  },
  'head-unexpected': {
    ...NOT_A_DOCUMENT,
    lead: 'The publisher signed a list of all pages of this site, and what came is not the page that is in it. Nothing of it is shown.',
    advice: ['Reload the page: the fault may be a passing one.', TRY_LATER, ASK_PUBLISHER],
  },
  'object-missing': MISSING,
  'content-host-answer': {
    ...UNREACHABLE,
    title: 'The content host gave no proper answer',
    lead: 'What it sent cannot be used. Nothing of it is shown.',
  },
  'content-host-unreachable': UNREACHABLE,
  'wrapped-key-malformed': KEY_TROUBLE,
  'wrapped-key-foreign': KEY_TROUBLE,
  'wrapped-key-tag': KEY_TROUBLE,
  'wrapped-key-id-mismatch': KEY_TROUBLE,
  'wrapped-key-not-valid-now': NOT_NOW,
  'answer-unreadable': KEY_TROUBLE,
  'descriptor-expired': {
    status: 502,
    title: 'The publisher has not been heard of for long',
    lead: 'What it signed about this site has expired, and nothing newer could be fetched.',
    advice: ['Check your connection, and the clock of this computer.', ASK_PUBLISHER],
  },
  'not-entitled': NO_ACCESS,
  'subscription-lapsed': {
    ...NO_ACCESS,
    title: 'Your subscription has ended',
    advice: ['Renew it with the publisher.'],
  },
  'device-revoked': {
    ...NO_ACCESS,
    title: 'This device is disconnected',
    lead: 'The publisher no longer gives keys to it.',
    advice: ['Ask the publisher for a new invitation.'],
  },
  'clock-off': {
    status: 502,
    title: 'The clock of this computer is wrong',
    lead: 'The key server refuses requests whose time is more than five minutes off.',
    advice: ['Set the clock, and reload.'],
  },
  'key-server-unreachable': KEY_SERVER_SILENT,
  'key-server-certificate': {
    ...KEY_SERVER_SILENT,
    title: 'The key server cannot prove who it is',
    lead: 'Its certificate is not valid, so no key was fetched.',
    advice: ['Check the clock of this computer.', 'Try another network.', ASK_PUBLISHER],
  },
  'key-server-answer': { ...KEY_SERVER_SILENT, title: 'The key server gave no proper answer' },
  'site-withdrawn': {
    status: 502,
    title: 'The publisher no longer speaks for this site',
    lead: 'You are connected with a publisher for this site, but what it signs does not name the site any more. Nothing else is shown in its place.',
    advice: [ASK_PUBLISHER],
  },
  'reader-locked': {
    status: 503,
    title: 'The Reader is locked',
    lead: 'It has let go of its keys, so nothing of this site can be opened. Nothing else is shown in its place.',
    advice: ['When it is unlocked, come back here and reload this page.'],
    adviceAt: (page) =>
      `Open ${page} in another tab, and unlock it there. Or type "wispr identity unlock" on the command line.`,
    sameOnReadingSite: true,
  },
  'reader-busy': {
    status: 503,
    title: 'The Reader is busy',
    lead: 'Too many documents are on their way at this moment, to programs that do not take them.',
    advice: [
      'Reload this page in a minute. If it stays so, end the programs that read through the Reader, one after the other.',
    ],
  },
  'store-damaged': OWN_FAULT,
  'store-unusable': {
    status: 503,
    title: 'The Reader cannot use its database',
    lead: 'The file in which it keeps its keys and your sites was removed or replaced while the Reader ran, or one of the two that belong to it. Nothing of your sites can be opened, and unlocking does not help until these files are back.',
    advice: [
      'If they were only moved, move them back, and unlock the Reader: nothing else is needed then.',
      'If the file was erased by mistake, put it back from a backup first: else the Reader knows none of your sites any more.',
      'Stop the Reader, and start it again. Where it runs as a service: systemctl --user restart wispr.service',
    ],
  },
  'store-unwritable': {
    status: 503,
    title: 'The Reader cannot write to its database',
    lead: 'The file in which it keeps its keys and your sites takes no change; “Detail” says why. What you asked for was not done, and nothing was changed.',
    advice: [
      'See whether its disk can be written, and who may write to its folder, and try again.',
      'Do not stop the Reader before: some of what it knows may not be written down.',
    ],
  },
  'store-busy': {
    status: 503,
    title: 'The database of the Reader is busy',
    lead: 'Another program is writing to the file in which the Reader keeps its keys and your sites, and takes longer than the Reader waits. What you asked for was not done, and nothing was changed.',
    advice: ['Try again in a moment. If it stays so, end that program. The Reader need not be restarted for it.'],
  },
  'disk-full': DISK_FULL,
  internal: OWN_FAULT,
  'bad-request': {
    ...REFUSED,
    status: 400,
    title: 'The request is malformed',
    lead: 'The Reader could not make sense of it.',
  },
  'coding-refused': {
    ...REFUSED,
    status: 501,
    title: 'The request is coded in a way the Reader does not know',
    lead: 'It could be read in two ways, so it was not read at all.',
  },
  'version-refused': {
    ...REFUSED,
    status: 505,
    title: 'The Reader speaks HTTP/1.0 and HTTP/1.1 only',
    lead: 'The request is in another version of the protocol.',
  },
  'method-refused': {
    ...REFUSED,
    status: 405,
    title: 'Pages of this site can only be read',
    lead: 'Forms and uploads do not work on a site that is published to be carried by others.',
  },
  'scheme-refused': {
    ...REFUSED,
    status: 501,
    title: 'The Reader does not fetch addresses of this kind',
    lead: 'Only http:// addresses can be asked for in this way; https:// goes through a tunnel.',
  },
  'cross-site': {
    ...REFUSED,
    title: 'Another site asked for this page',
    lead: 'Pages in the Reader can be opened by a link, but not be loaded into pages of other sites.',
    advice: ['Open the address in a tab of its own.'],
  },
  'other-user': {
    ...REFUSED,
    title: 'This Reader belongs to another user',
    lead: 'It shows what one user of this computer may read, and serves nobody else on it.',
    advice: ['Start a Reader of your own, on another port.'],
  },
  'host-unknown': {
    ...REFUSED,
    title: 'The Reader does not know this address',
    lead: 'There is no site by this name here. It may have been disconnected.',
    adviceAt: (page) => `Open ${page} to see your sites, each with its address.`,
  },
  'form-foreign': {
    ...REFUSED,
    title: 'This did not come from the Reader',
    lead: 'Something asked the Reader to change its settings or connections. Only forms on its own pages may do that, so nothing was changed.',
    advice: ['If you did mean to change something, do it on the Reader’s own page.'],
  },
  'form-malformed': {
    ...REFUSED,
    status: 400,
    title: 'The form did not arrive as it should',
    lead: 'Nothing was changed.',
    advice: ['Open the page again, and fill in the form once more.'],
  },
  'form-outdated': {
    ...REFUSED,
    title: 'The Reader was restarted in the meantime',
    lead: 'The form on your screen belongs to its last run, so nothing was changed.',
    advice: ['Open the page again, and fill in the form once more.'],
  },
  'page-unknown': {
    ...REFUSED,
    status: 404,
    title: 'The Reader has no such page',
    lead: 'There is nothing at this address.',
  },
  'tunnel-refused': {
    ...REFUSED,
    lead: 'A tunnel to this port was refused: it is not for reading, or would go around the checks of a connected site.',
  },
  'local-refused': {
    ...REFUSED,
    title: 'This address is in your own network',
    lead: 'It leads to this computer, or to a device near it. Pages out there could use the Reader to get at those, so it makes no such connections.',
    advice: [
      'If you did not mean to open it: leave it at that. Somebody may have tried to reach your devices.',
      'If you did: tell the browser not to use the proxy for this address.',
      'Or start the Reader with --allow-local and the address, for programs that cannot do that.',
    ],
  },
  'worker-refused': {
    ...REFUSED,
    title: 'Service workers are not installed',
    lead: 'A page wanted to install a program that answers in place of the Reader, also when your keys have expired.',
  },
  'site-port': {
    ...REFUSED,
    title: 'This site has nothing on other ports',
    lead: 'You are connected with its publisher: everything under this name is read from what it signed. An answer from another port would be nobody’s word.',
    advice: ['Open the address without the number after the name.'],
  },
  'port-refused': { ...REFUSED, lead: 'The Reader makes no connections to this port.' },
  loop: {
    ...REFUSED,
    status: 508,
    title: 'The request would come back to the Reader',
    lead: 'The address leads to this very program.',
  },
  'host-unreachable': {
    ...UNREACHABLE,
    title: 'The site does not answer',
    lead: 'The computer behind this address could not be reached.',
    advice: ['Check the address: a letter may be missing, or one too many.', 'Check your connection.', TRY_LATER],
  },
  'parent-proxy-unreachable': {
    status: 502,
    title: 'The parent proxy does not answer',
    lead: 'The Reader was told to fetch everything through another proxy, and that one could not be reached. The site may well be there.',
    advice: [
      'Start that proxy, or check its address: in the settings of the Reader, at “Another proxy to go through”, or where the Reader is started, behind --parent-proxy.',
      'If you need none any more, take it out there.',
    ],
  },
  'parent-proxy-answer': {
    status: 502,
    title: 'The parent proxy gave no answer',
    lead: 'The Reader was told to fetch everything through another proxy. Something is there, but it broke off, or does not speak HTTP. The site may well be there.',
    advice: [
      'See that it is an HTTP proxy, not one of SOCKS or HTTPS, and that its address is right: in the settings of the Reader, at “Another proxy to go through”, or where the Reader is started, behind --parent-proxy.',
      'If you need none any more, take it out there.',
    ],
  },
  'parent-proxy-auth': {
    status: 502,
    title: 'The parent proxy wants a name and a password',
    lead: 'The Reader was told to fetch everything through another proxy, and that one lets in nobody without a name and a password that it knows. The site may well be there.',
    advice: [
      'Whoever runs that proxy has a name and a password for you. Write both into a file, as http://NAME:PASSWORD@HOST:PORT, and start the Reader with --parent-proxy-file and the name of that file. Its settings take no password.',
      'If you need that proxy no more, take it out in the settings, or where the Reader is started.',
    ],
  },
  'host-answer': { ...UNREACHABLE, title: 'The site gave no proper answer', lead: 'What it sent cannot be passed on.' },
};

/** The text for a code. */
export function refusalText(code: string): RefusalText {
  return (TEXTS as Record<string, RefusalText | undefined>)[code] ?? OWN_FAULT;
}

/**
 * Where nobody knows whether there is a newer publication, which may have the page. The reading site may know.
 *
 * @param confirmed - how long ago the publication at hand was last confirmed
 * @param failed - code of what the look for a newer one met; `undefined` while that look goes on
 */
export function missingSoFarText(version: number, confirmed: string, failed: string | undefined): RefusalText {
  const { sameOnReadingSite: _, advice, ...text } = NO_SUCH_DOCUMENT;
  const goesOn = failed === undefined;
  const look = goesOn
    ? 'A newer one is being looked for.'
    : `The Reader could not look for a newer one: ${refusalText(failed).title}.`;
  const reload = goesOn ? 'Reload this page in a moment' : 'Check your connection, and reload this page';
  return {
    ...text,
    title: 'There is no such page so far',
    lead: `Publication ${version} of this site, the newest that is here, has no page with this address. It was last confirmed ${confirmed}. ${look}`,
    advice: [`${reload}: a newer publication may have it.`, ...advice],
  };
}

/** The way on, to the same document on the signed reading site. */
export const READING_SITE_TEXT = 'Read it on the reading site';

export const FACT_TEXT = { code: 'Code', address: 'Address', detail: 'Detail' } as const;

/** For a site whose publication is no longer fresh. @param confirmed - how long ago that was */
export function noticeText(site: string, confirmed: string) {
  return {
    title: `${site} was last confirmed ${confirmed}`,
    lead: 'The publisher has not confirmed since then that this is what it published last, or its word has not reached you. You can read on: everything is as the publisher signed it, but there may be something newer.',
    advice: ['Check your connection, and the clock of this computer.'],
  };
}

export const NOTICE_FACT_TEXT = {
  action: 'Read on',
  publication: 'Publication',
  confirmed: 'Last confirmed',
  freshUntil: 'To be confirmed by',
  shownUntil: 'Shown until',
} as const;
