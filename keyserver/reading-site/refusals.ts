/** Refusals of the reading site's own pages; those of documents are in reading/refusals.ts. */
import { CodedError } from '../../core/errors.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { DAMAGED, REFUSALS, type Refusal, refusalOf } from '../../reading/refusals.ts';

export interface CodedRefusal extends Refusal {
  /** The short code, by which publisher and operator find the cause. */
  readonly code: string;
  /** For the publisher: what the check says. */
  readonly detail?: string;
}

/** Texts of these pages alone. */
const TEXTS: Readonly<Record<string, Refusal | undefined>> = {
  'not-signed-in': {
    status: 401,
    title: 'Please sign in',
    lead: 'This page is for subscribers.',
    way: 'account',
  },
  'not-found': REFUSALS['no-such-document'],
  'no-provider': {
    status: 503,
    title: 'Nothing to read here yet',
    lead: 'No publisher uses this reading site so far.',
  },
  'cross-site': {
    status: 403,
    title: 'This form came from elsewhere',
    lead: 'Another website tried to send it in your name, or your browser hides where forms come from. Open the page again, and send it from there.',
  },
  'entry-refused': {
    status: 403,
    title: 'Signing in was not completed',
    lead: 'It took too long, was sent twice, or this browser keeps no cookies.',
    way: 'front',
  },
  'gift-refused': {
    status: 403,
    title: 'This link no longer opens the page',
    lead: 'It was opened as often as it could be, it is too old, it was not copied whole, or the person who gave it took it back. Ask them for a new one.',
    way: 'subscribe',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    lead: 'Wait a minute, then try again; after failed attempts to sign in, a quarter of an hour.',
  },
  busy: {
    status: 503,
    title: 'Too many people at once',
    lead: 'Very many people are signing in at this moment. Nothing was sent. Try again in a minute.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Pages here can only be read',
    lead: 'Nothing can be sent to them. Open the page instead.',
  },
  'misdirected-request': {
    status: 421,
    title: 'Wrong address',
    lead: 'This reading site has another one. Use the address that the publisher gave you.',
    way: 'none',
  },
  'foreign-page': {
    status: 403,
    title: 'Only pages of this site may use this',
    lead: 'A page of another site tried to load it into itself. Open it by a link or its address.',
  },
  'passkey-refused': {
    status: 403,
    title: 'The passkey was not added',
    lead: 'It took more than five minutes, is here already, or there are too many. Try again from your account.',
    way: 'account',
  },
  'foreign-worker': {
    status: 403,
    title: 'Pages of this site install nothing',
    lead: 'A page tried to put a program of its own between you and this site.',
    way: 'front',
  },
  'bad-request': {
    status: 400,
    title: 'The form could not be read',
    lead: 'Open the page again, and send the form from there.',
  },
};

/** The refusal for an error or a code; `undefined` for an unforeseen error. */
export function refusalFor(cause: unknown): CodedRefusal | undefined {
  if (typeof cause === 'string') return coded(cause, TEXTS[cause] ?? REFUSALS[cause]);
  if (!(cause instanceof CodedError)) return undefined;
  const text = TEXTS[cause.code] ?? refusalOf(cause);
  if (!(cause instanceof ObjectError || cause instanceof PublicationError)) return coded(cause.code, text);
  // What it says of times and hosts, publishers can compare with what they know.
  return { ...(text ?? DAMAGED), code: cause.code, detail: cause.message };
}

function coded(code: string, text: Refusal | undefined): CodedRefusal | undefined {
  return text && { ...text, code };
}

/** Refusal for an unforeseen error. */
export const INTERNAL_REFUSAL: CodedRefusal = {
  status: 500,
  title: 'Something went wrong here',
  lead: 'The fault is on this side. Try again in a few minutes.',
  code: 'internal',
};

/** Texts of these pages alone, for the test of their words. */
export const REFUSAL_TEXTS: readonly Refusal[] = [...Object.values(TEXTS), INTERNAL_REFUSAL].filter(
  (text) => text !== undefined,
);
