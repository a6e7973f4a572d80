/** What a reader sees when a page cannot be shown: what happened in a sentence, one way on, and a short code for the publisher. */
import { CodedError } from '../../core/errors.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { PublicationError } from '../../core/publication/errors.ts';

/**
 * Where the one button leads: the same address `again`, the `front` page, the `sign-in`, or where people `subscribe`; the account, where the
 * publisher names no such address. Never to what is refused for the same reason.
 */
export type WayOn = 'again' | 'front' | 'sign-in' | 'subscribe' | 'none';

export interface Refusal {
  readonly status: number;
  readonly title: string;
  /** In readers' words, with what to do. */
  readonly text: string;
  readonly way: WayOn;
  /** The short code, by which publisher and operator find the cause. */
  readonly code: string;
  /** For the publisher: what the check says. */
  readonly detail?: string;
}

type Text = Omit<Refusal, 'code' | 'detail'>;

const NO_SUCH_PAGE: Text = {
  status: 404,
  title: 'There is no such page',
  text: 'Check the address for a mistake, or start from the front page.',
  way: 'front',
};

const NOT_FETCHED: Text = {
  status: 502,
  title: 'This page could not be fetched',
  text: 'A server on the way does not answer as it should. Try again in a few minutes.',
  way: 'again',
};

const OUT_OF_DATE: Text = {
  status: 502,
  title: 'This site may be out of date',
  text: 'The publisher normally confirms every hour that nothing is missing. It hasn’t for too long, so nothing is shown.',
  way: 'again',
};

const TEXTS: Readonly<Record<string, Text>> = {
  'not-signed-in': {
    status: 401,
    title: 'Please sign in',
    text: 'This page is for subscribers.',
    way: 'sign-in',
  },
  'not-entitled': {
    status: 403,
    title: 'Your subscription does not include this page',
    text: 'Ask the publisher to add it, or sign in with another name.',
    way: 'subscribe',
  },
  lapsed: {
    status: 403,
    title: 'Your subscription has ended',
    text: 'Renew it to read on.',
    way: 'subscribe',
  },
  revoked: {
    status: 403,
    title: 'The publisher has ended your access',
    text: 'Ask the publisher for a new invitation.',
    way: 'subscribe',
  },
  'key-missing': {
    status: 403,
    title: 'This page is not ready yet',
    text: 'If it was published just now, try again in a few minutes. Otherwise ask the publisher.',
    way: 'again',
  },
  'key-not-valid-now': {
    status: 403,
    title: 'This page cannot be read at this time',
    text: 'The publisher decides when it can be read. If that is a surprise, ask the publisher.',
    way: 'again',
  },
  'path-refused': NO_SUCH_PAGE,
  'no-such-document': NO_SUCH_PAGE,
  'not-found': NO_SUCH_PAGE,
  'object-missing': NOT_FETCHED,
  'metadata-missing': NOT_FETCHED,
  'content-host-answer': NOT_FETCHED,
  'content-host-unreachable': NOT_FETCHED,
  'metadata-expired': OUT_OF_DATE,
  'publication-expired': OUT_OF_DATE,
  'publication-withdrawn': {
    status: 502,
    title: 'The publisher has taken this site down for now',
    text: 'Nothing is shown until it publishes again.',
    way: 'again',
  },
  'clock-off': {
    status: 502,
    title: 'A clock is wrong here',
    text: 'It is the one of this reading site, not yours. Its operator has to set it.',
    way: 'again',
  },
  'no-provider': {
    status: 503,
    title: 'Nothing to read here yet',
    text: 'No publisher uses this reading site so far.',
    way: 'again',
  },
  'cross-site': {
    status: 403,
    title: 'This form came from elsewhere',
    text: 'Another website tried to send it in your name, or your browser hides where forms come from. Open the page again, and send it from there.',
    way: 'again',
  },
  'entry-refused': {
    status: 403,
    title: 'Signing in was not completed',
    text: 'It took too long, was begun in another browser, or this one keeps no cookies.',
    way: 'front',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    text: 'Wait a minute, then try again; after failed attempts to sign in, a quarter of an hour.',
    way: 'again',
  },
  busy: {
    status: 503,
    title: 'Too many people at once',
    text: 'Very many people are signing in at this moment. Try again in a minute.',
    way: 'again',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Pages here can only be read',
    text: 'Nothing can be sent to them. Open the page instead.',
    way: 'again',
  },
  'misdirected-request': {
    status: 421,
    title: 'Wrong address',
    text: 'This reading site has another one. Use the address that the publisher gave you.',
    way: 'none',
  },
  'foreign-page': {
    status: 403,
    title: 'Only pages of this site may use this',
    text: 'A page of another site tried to load it into itself. Open it by a link or its address.',
    way: 'again',
  },
  'passkey-refused': {
    status: 403,
    title: 'The passkey was not added',
    text: 'It took more than five minutes, is here already, or there are too many. Try again from your account.',
    way: 'sign-in',
  },
  'foreign-worker': {
    status: 403,
    title: 'Pages of this site install nothing',
    text: 'A page tried to put a program of its own between you and this site.',
    way: 'front',
  },
  'bad-request': {
    status: 400,
    title: 'The form could not be read',
    text: 'Open the page again, and send the form from there.',
    way: 'again',
  },
};

const FAILED_CHECK: Text = {
  status: 502,
  title: 'This page arrived damaged',
  text: 'It was changed on its way here, so it is not shown. Trying again usually helps.',
  way: 'again',
};

const INTERNAL: Text = {
  status: 500,
  title: 'Something went wrong here',
  text: 'The fault is on this side. Try again in a few minutes.',
  way: 'again',
};

/** The refusal for an error or a code; `undefined` for an unforeseen error. */
export function refusalFor(cause: unknown): Refusal | undefined {
  const code = typeof cause === 'string' ? cause : cause instanceof CodedError ? cause.code : undefined;
  const text = code !== undefined && Object.hasOwn(TEXTS, code) ? TEXTS[code] : undefined;
  const isCheck = cause instanceof ObjectError || cause instanceof PublicationError;
  // What it says of times and hosts, publishers can compare with what they know.
  const detail = isCheck ? { detail: cause.message } : {};
  if (code !== undefined && text) return { ...text, code, ...detail };
  return isCheck ? { ...FAILED_CHECK, code: cause.code, ...detail } : undefined;
}

export const INTERNAL_REFUSAL: Refusal = { ...INTERNAL, code: 'internal' };

/** Everything that these pages say to readers, for the test of their words. */
export const REFUSAL_TEXTS: readonly Text[] = [...Object.values(TEXTS), FAILED_CHECK, INTERNAL];
