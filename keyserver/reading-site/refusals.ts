/** What a reader sees when a page cannot be shown: what happened, why, what to do, and a short code. */
import { CodedError } from '../../core/errors.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { PublicationError } from '../../core/publication/errors.ts';

export interface Refusal {
  readonly status: number;
  readonly title: string;
  readonly why: string;
  readonly advice: string;
  /** The short code, by which publisher and operator find the cause. */
  readonly code: string;
}

type Text = Omit<Refusal, 'code'>;

const ASK_PUBLISHER = 'Ask the publisher. The code below tells them which check it was.';

const UNCONFIRMED: Text = {
  status: 502,
  title: 'This site has not been confirmed for too long',
  why: 'The publisher has not confirmed this site recently enough, so it may be out of date, and nothing is shown.',
  advice: ASK_PUBLISHER,
};

const TEXTS: Readonly<Record<string, Text>> = {
  'not-signed-in': {
    status: 401,
    title: 'Please sign in',
    why: 'This page is for subscribers.',
    advice: 'Open it in a window of its own and sign in there.',
  },
  'not-entitled': {
    status: 403,
    title: 'Not part of your subscription',
    why: 'You are signed in, but this page belongs to a set that was not granted to you.',
    advice: 'Ask the publisher to add it to your subscription, or sign in with another name.',
  },
  lapsed: {
    status: 403,
    title: 'Your subscription has ended',
    why: 'This page was part of your subscription, which ran out.',
    advice: 'Renew it with the publisher, then load this page again.',
  },
  revoked: {
    status: 403,
    title: 'Your access was withdrawn',
    why: 'The publisher has withdrawn the access of this name.',
    advice: 'Ask the publisher for a new invitation.',
  },
  'key-missing': {
    status: 403,
    title: 'There is no key for this page yet',
    why: 'The page belongs to a set whose key has not reached this reading site.',
    advice: 'If it was published just now, try again in a few minutes. Otherwise ask the publisher.',
  },
  'key-not-valid-now': {
    status: 403,
    title: 'The key to this page is not valid now',
    why: 'The time for which the key may be used has not begun or is over.',
    advice: ASK_PUBLISHER,
  },
  'path-refused': {
    status: 404,
    title: 'There is no such page',
    why: 'The address is not one that a page of this site can have.',
    advice: 'Check the address for a mistake, or start from the front page.',
  },
  'no-such-document': {
    status: 404,
    title: 'There is no such page',
    why: 'The publisher signed a list of all pages of this site, and none has this address.',
    advice: 'Check the address for a mistake, or start from the front page.',
  },
  'object-missing': {
    status: 502,
    title: 'The page could not be fetched',
    why: 'The publisher signed that there is such a page, but the content host does not have it.',
    advice: 'Try again in a few minutes.',
  },
  'metadata-missing': {
    status: 502,
    title: 'The list of pages could not be fetched',
    why: 'Before any page, its place in the publisher’s signed list of pages is checked. That list is not available at the moment.',
    advice: 'Try again in a few minutes.',
  },
  'metadata-expired': UNCONFIRMED,
  'publication-expired': UNCONFIRMED,
  'publication-withdrawn': {
    status: 502,
    title: 'The publisher has withdrawn this site for now',
    why: 'Nothing may be shown until it publishes again.',
    advice: 'Try again in a few minutes.',
  },
  'clock-off': {
    status: 502,
    title: 'The clock of this reading site is behind',
    why: 'The publisher confirmed this site at a time that has not come yet, by the clock here.',
    advice: 'Tell the operator of this reading site.',
  },
  'content-host-answer': {
    status: 502,
    title: 'The page could not be fetched',
    why: 'The content host answered, but not with the page.',
    advice: 'Try again in a few minutes.',
  },
  'content-host-unreachable': {
    status: 502,
    title: 'The page could not be fetched',
    why: 'The content host cannot be reached, or broke off.',
    advice: 'Try again in a few minutes.',
  },
  'no-provider': {
    status: 503,
    title: 'Nothing to read here yet',
    why: 'No publisher has been connected to this reading site.',
    advice: 'If you run it: import the key bundle with "wispr admin import".',
  },
  'cross-site': {
    status: 403,
    title: 'This form came from elsewhere',
    why: 'Another website tried to send a form in your name, or your browser hides where forms come from.',
    advice: 'Go back, load the page again, and send the form from there.',
  },
  'entry-refused': {
    status: 403,
    title: 'Signing in was not completed',
    why: 'It was not begun in this browser, took too long, or the browser keeps no cookies.',
    advice: 'Open the page that you wanted once more.',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    why: 'There were too many from your network, or too many attempts for this name.',
    advice: 'Try again in a minute; after failed attempts, in a quarter of an hour.',
  },
  busy: {
    status: 503,
    title: 'Too many people at once',
    why: 'Very many people are signing in at this moment.',
    advice: 'Try again in a minute.',
  },
  'not-found': {
    status: 404,
    title: 'There is no such page',
    why: 'The reading site itself has no page at this address.',
    advice: 'Check the address for a mistake, or start from the front page.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Pages here can only be read',
    why: 'The request wanted to send something to a page.',
    advice: 'Open the page by a link or its address.',
  },
  'misdirected-request': {
    status: 421,
    title: 'Wrong address',
    why: 'This reading site is not at the address that was asked for.',
    advice: 'Use the address that the publisher gave you.',
  },
  'foreign-page': {
    status: 403,
    title: 'Only pages of this site may use this',
    why: 'A page of another site tried to load this document into itself.',
    advice: 'Open the document by a link or its address.',
  },
  'foreign-worker': {
    status: 403,
    title: 'Pages of this site install nothing',
    why: 'A page tried to put a program of its own between you and this site.',
    advice: ASK_PUBLISHER,
  },
  'bad-request': {
    status: 400,
    title: 'The form could not be read',
    why: 'What arrived is not what the form sends.',
    advice: 'Go back, load the page again, and send the form from there.',
  },
};

const FAILED_CHECK: Text = {
  status: 502,
  title: 'This page failed a check, and is not shown',
  why: 'What the content host sent is not what the publisher signed for this address.',
  advice:
    'Try again in a few minutes; a damaged copy in a cache goes away by itself. If it stays, tell the publisher the code below.',
};

const INTERNAL: Text = {
  status: 500,
  title: 'Something went wrong here',
  why: 'The reading site has met a fault of its own.',
  advice: 'Try again in a few minutes.',
};

/** The refusal for an error or a code; `undefined` for an unforeseen error. */
export function refusalFor(cause: unknown): Refusal | undefined {
  const code = typeof cause === 'string' ? cause : cause instanceof CodedError ? cause.code : undefined;
  const text = code !== undefined && Object.hasOwn(TEXTS, code) ? TEXTS[code] : undefined;
  // What it says of times, readers can compare with their own clocks.
  if (text && cause instanceof PublicationError)
    return { ...text, why: `${text.why} (${cause.message}.)`, code: cause.code };
  if (code !== undefined && text) return { ...text, code };
  if (cause instanceof ObjectError || cause instanceof PublicationError)
    return { ...FAILED_CHECK, why: `${FAILED_CHECK.why} The check says: ${cause.message}.`, code: cause.code };
  return undefined;
}

export const INTERNAL_REFUSAL: Refusal = { ...INTERNAL, code: 'internal' };
