/** Pages in place of a document: what happened, and what to do. */
import { ago, day } from './language.ts';

interface Said {
  readonly title: string;
  readonly lead: string;
}

export const DAMAGED: Said = {
  title: 'This page arrived damaged',
  lead: 'It was changed on its way, so it is not shown. Try again, or use another network.',
};
export const NOT_LOADED: Said = {
  title: 'This page could not be loaded',
  lead: 'Its server does not answer, or not as it should. Try again in a few minutes.',
};
export const OFFLINE: Said = {
  title: 'You are offline',
  lead: 'This page is not saved on this device. Connect to a network, then try again.',
};
export const FOREIGN: Said = {
  title: 'This site is signed by someone else',
  lead: 'It is not the publisher that you know, so it is not shown. Use another network.',
};
const TOO_NEW: Said = {
  title: 'This page needs a newer reader',
  lead: 'Update it on this device, or come back later.',
};
const OUT_OF_DATE: Said = {
  title: 'This site may be out of date',
  lead: 'Nothing newer could be checked for too long, so it is not shown.',
};
const NO_SUCH_PAGE: Said = {
  title: 'There is no such page',
  lead: 'Check the address, or start from the front page.',
};

/** Texts by error code. */
export const REFUSED = {
  'object-version': TOO_NEW,
  'settings-malformed': TOO_NEW,
  'publisher-unexpected': FOREIGN,
  'root-unexpected': FOREIGN,
  'key-missing': {
    title: 'You have no key for this page',
    lead: 'If you have just subscribed, try again in a few minutes. Otherwise ask the publisher.',
  },
  'key-not-valid-now': {
    title: 'Your key for this page is not valid now',
    lead: 'Check the clock of this device. If it is right, ask the publisher.',
  },
  'not-entitled': {
    title: 'Your subscription does not include this page',
    lead: 'If you have just subscribed, try again in a few minutes. Otherwise ask the publisher.',
  },
  lapsed: { title: 'Your subscription has ended', lead: 'Renew it to read on.' },
  revoked: {
    title: 'The publisher has ended your access',
    lead: 'Ask the publisher for a new invitation.',
  },
  'path-refused': NO_SUCH_PAGE,
  'no-such-document': NO_SUCH_PAGE,
  'object-missing': NOT_LOADED,
  'metadata-missing': NOT_LOADED,
  'content-host-answer': NOT_LOADED,
  'content-host-unreachable': NOT_LOADED,
  'metadata-expired': OUT_OF_DATE,
  'publication-expired': OUT_OF_DATE,
  'metadata-rollback': {
    title: 'An older version of this site was offered',
    lead: 'A newer one was seen, so it is not shown. Try again in a few minutes.',
  },
  'publication-withdrawn': {
    title: 'The publisher has taken this site down for now',
    lead: 'Nothing is shown until it publishes again.',
  },
  'clock-off': {
    title: 'A clock is wrong, so nothing is shown',
    lead: 'If the clock of this device is right, tell the publisher.',
  },
} as const satisfies Readonly<Record<string, Said>>;

export const missingSoFar = (confirmed: number, now: number): Said => ({
  title: 'There is no such page so far',
  lead: `The list of pages was up to date ${ago(confirmed, now)}. Try again in a few minutes.`,
});

/** Pages in front of one that opens all the same; `button` opens it. */
export const NOTICES = {
  past: (_name: string, confirmed: number) => ({
    title: `This is the page as of ${day(confirmed)}`,
    lead: 'Nothing newer could be checked. Only what is saved on this device opens.',
    button: 'Show it',
  }),
  stale: (name: string, confirmed: number, now: number) => ({
    title: `${name} was last checked ${ago(confirmed, now)}`,
    lead: 'There may be something newer, which could not be checked now.',
    button: 'Read on',
  }),
};

/** Ways on. */
export const BUTTONS = {
  again: 'Try again',
  front: 'Front page',
  subscribe: 'See subscriptions',
  account: 'Your account',
  signIn: 'Sign in',
};

/** Codes, folded away, in the program's own words. */
export const FOR_THE_PUBLISHER = 'For the publisher';
