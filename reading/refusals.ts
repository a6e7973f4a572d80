/** Texts in place of a document that cannot be shown: by error code, one wording, one status and one way on in every reader. */
import type { CodedError } from '../core/errors.ts';
import { ago } from './confirmation.ts';
import { MissingSoFar } from './missing-so-far.ts';

/** Target of the one button: the same address, the front page, where people subscribe, or their account. Never to what is refused for the same reason. */
export type WayOn = 'account' | 'again' | 'front' | 'none' | 'subscribe';

export interface Refusal {
  /** Status of HTTP. Default: 502. */
  readonly status?: number;
  readonly title: string;
  /** Sentences about what happened and what to do, in readers' words. */
  readonly lead: string;
  /** Default: `again`. */
  readonly way?: WayOn;
}

/** Refusal of what has failed a check, unless its code says more. */
export const DAMAGED: Refusal = {
  title: 'This page arrived damaged',
  lead: 'It was changed on its way, so it is not shown. Try again, or use another network.',
};
export const NOT_LOADED: Refusal = {
  title: 'This page could not be loaded',
  lead: 'Its server does not answer, or not as it should. Try again in a few minutes.',
};
export const FOREIGN: Refusal = {
  title: 'This site is signed by someone else',
  lead: 'It is not the publisher that you know, so it is not shown. Use another network.',
};
const TOO_NEW: Refusal = {
  title: 'This page needs a newer reader',
  lead: 'Update it on this device, or come back later.',
  way: 'none',
};
const OUT_OF_DATE: Refusal = {
  title: 'This site may be out of date',
  lead: 'Nothing newer could be checked for too long, so it is not shown.',
};
const NO_SUCH_PAGE: Refusal = {
  status: 404,
  title: 'There is no such page',
  lead: 'Check the address, or start from the front page.',
  way: 'front',
};
const NO_ACCESS = { status: 403, way: 'subscribe' } as const;

export const REFUSALS: Readonly<Record<string, Refusal | undefined>> = {
  'object-version': TOO_NEW,
  'settings-malformed': TOO_NEW,
  'publisher-unexpected': FOREIGN,
  'root-unexpected': FOREIGN,
  'key-missing': {
    status: 403,
    title: 'You have no key for this page',
    lead: 'If you have just subscribed, try again in a few minutes. Otherwise ask the publisher.',
  },
  'key-not-valid-now': {
    ...NO_ACCESS,
    title: 'Your key for this page is not valid now',
    lead: 'Check the clock of this device. If it is right, ask the publisher.',
  },
  'not-entitled': {
    ...NO_ACCESS,
    title: 'Your subscription does not include this page',
    lead: 'If you have just subscribed, try again in a few minutes. Otherwise ask the publisher.',
  },
  lapsed: { ...NO_ACCESS, title: 'Your subscription has ended', lead: 'Renew it to read on.' },
  revoked: {
    ...NO_ACCESS,
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
};

/** @returns `undefined` where the code is the adapter's own, or the error is a failed check without words of its own: {@link DAMAGED} */
export function refusalOf(error: CodedError): Refusal | undefined {
  if (!(error instanceof MissingSoFar)) return REFUSALS[error.code];
  const { confirmed, now } = error.atHand;
  return {
    status: 404,
    title: 'There is no such page so far',
    lead: `The list of pages was up to date ${ago(confirmed, now)}. Try again in a few minutes.`,
  };
}
