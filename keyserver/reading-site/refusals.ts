/** Refusals of the reading site's own pages; those of documents are in reading/refusals.ts. */
import { CodedError } from '../../core/errors.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { DAMAGED, REFUSALS, type Refusal, refusalOf, withAnswers } from '../../reading/refusals.ts';
import { READING_SITE } from '../../words/en/reading-site.ts';

export interface CodedRefusal extends Refusal {
  /** The short code, by which publisher and operator find the cause. */
  readonly code: string;
  /** Text of the check, for the publisher. */
  readonly detail?: string;
}

/** Refusals of these pages alone. */
const OWN: Readonly<Record<string, Refusal | undefined>> = {
  'not-found': REFUSALS['no-such-document'],
  ...withAnswers(READING_SITE.refused, {
    'not-signed-in': { status: 401, way: 'account' },
    'no-provider': { status: 503 },
    'cross-site': { status: 403 },
    'entry-refused': { status: 403, way: 'front' },
    'gift-refused': { status: 403, way: 'subscribe' },
    'too-many-requests': { status: 429 },
    busy: { status: 503 },
    'method-not-allowed': { status: 405 },
    'misdirected-request': { status: 421, way: 'none' },
    'foreign-page': { status: 403 },
    'passkey-refused': { status: 403, way: 'account' },
    'foreign-worker': { status: 403, way: 'front' },
    'bad-request': { status: 400 },
  }),
};

/** The refusal for an error or a code; `undefined` for an unforeseen error. */
export function refusalFor(cause: unknown): CodedRefusal | undefined {
  if (typeof cause === 'string') return coded(cause, OWN[cause] ?? REFUSALS[cause]);
  if (!(cause instanceof CodedError)) return undefined;
  const text = OWN[cause.code] ?? refusalOf(cause);
  if (!(cause instanceof ObjectError || cause instanceof PublicationError)) return coded(cause.code, text);
  // Publishers can compare what it says of times and hosts with what they know.
  return { ...(text ?? DAMAGED), code: cause.code, detail: cause.message };
}

function coded(code: string, text: Refusal | undefined): CodedRefusal | undefined {
  return text && { ...text, code };
}

/** Refusal for an unforeseen error. */
export const INTERNAL_REFUSAL: CodedRefusal = { status: 500, ...READING_SITE.unforeseen, code: 'internal' };
