/** Answers in place of a document that cannot be shown: by error code, one wording, one status and one way on in every reader. */
import type { CodedError } from '../core/errors.ts';
import * as words from '../words/en/refusals.ts';
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
export const DAMAGED: Refusal = words.DAMAGED;
export const NOT_LOADED: Refusal = words.NOT_LOADED;
export const FOREIGN: Refusal = words.FOREIGN;
/** Refusal in place of {@link NOT_LOADED} where the browser knows that it has no network. */
export const OFFLINE: Refusal = words.OFFLINE;

const NOT_FOUND = { status: 404, way: 'front' } as const;
const NO_ACCESS = { status: 403, way: 'subscribe' } as const;

/** Status and way on, where they are not the usual ones. */
const ANSWERS: { readonly [code in keyof typeof words.REFUSED]?: Pick<Refusal, 'status' | 'way'> } = {
  'object-version': { way: 'none' },
  'settings-malformed': { way: 'none' },
  'key-missing': { status: 403 },
  'key-not-valid-now': NO_ACCESS,
  'not-entitled': NO_ACCESS,
  lapsed: NO_ACCESS,
  revoked: NO_ACCESS,
  'path-refused': NOT_FOUND,
  'no-such-document': NOT_FOUND,
};

export const REFUSALS: Readonly<Record<string, Refusal | undefined>> = withAnswers(words.REFUSED, ANSWERS);

/** Joins what is said to what is answered, by code. */
export function withAnswers<Code extends string>(
  said: Readonly<Record<Code, Pick<Refusal, 'lead' | 'title'>>>,
  answers: { readonly [code in Code]?: Pick<Refusal, 'status' | 'way'> },
): Record<Code, Refusal> {
  const codes = Object.keys(said) as Code[];
  return Object.fromEntries(
    codes.map((code) => [code, answers[code] ? { ...said[code], ...answers[code] } : said[code]]),
  ) as Record<Code, Refusal>;
}

/** @returns `undefined` where the code is the adapter's own, or the error is a failed check without words of its own: {@link DAMAGED} */
export function refusalOf(error: CodedError): Refusal | undefined {
  if (!(error instanceof MissingSoFar)) return REFUSALS[error.code];
  const { confirmed, now } = error.atHand;
  return { status: 404, ...words.missingSoFar(confirmed, now) };
}
