/** Texts of errors that no other reader has; those that documents meet stand in reading/refusals.ts. */
import { CodedError } from '../../core/errors.ts';
import type { ChannelErrorCode } from '../../core/httpcrypt/errors.ts';
import type { KeyErrorCode } from '../../core/keys/errors.ts';
import { OBJECT_ERRORS } from '../../core/object/errors.ts';
import { PUBLICATION_ERRORS } from '../../core/publication/errors.ts';
import { DAMAGED, REFUSALS, type Refusal, withAnswers } from '../../reading/refusals.ts';
import * as words from '../../words/en/reader-refusals.ts';
import type { ReaderErrorCode } from '../errors.ts';
import type { PageAlert } from './template.ts';

type Code = keyof typeof words.REFUSED & (KeyErrorCode | ChannelErrorCode | ReaderErrorCode);

const REFUSED = { status: 403, way: 'none' } as const;
const OWN = { status: 500 } as const;
const UNAVAILABLE = { status: 503 } as const;

/** Status and way on, where they are not the usual ones. */
const ANSWERS: { readonly [code in Code]?: Pick<Refusal, 'status' | 'way'> } = {
  'reader-locked': UNAVAILABLE,
  'reader-busy': UNAVAILABLE,
  'store-damaged': OWN,
  'store-unusable': UNAVAILABLE,
  'store-unwritable': UNAVAILABLE,
  'disk-full': { status: 507 },
  internal: OWN,
  'bad-request': { ...REFUSED, status: 400 },
  'method-refused': { ...REFUSED, status: 405 },
  'cross-site': REFUSED,
  'other-user': REFUSED,
  'host-unknown': REFUSED,
  'form-malformed': { ...REFUSED, status: 400 },
  'page-unknown': { ...REFUSED, status: 404 },
  'local-refused': REFUSED,
  'port-refused': REFUSED,
  loop: { ...REFUSED, status: 508 },
};
/** Texts by code; one that is not here is not expected on a page. */
const TEXTS: Readonly<Record<string, Refusal | undefined>> = withAnswers<Code>(words.REFUSED, ANSWERS);
const OWN_FAULT: Refusal = { ...words.OWN_FAULT, ...OWN };

/** Words of a form, or else of a page, for an error. @throws errors without a code: faults of this program */
export function alertFor(error: unknown, problems: Readonly<Record<string, words.Problem | undefined>>): PageAlert {
  if (!(error instanceof CodedError)) throw error;
  const { code, message } = error;
  const { title, lead } = refusalText(code);
  return { ...(problems[code] ?? { text: `${title}.`, hint: lead }), code, detail: message };
}

/** The text for a code. */
export function refusalText(code: string): Refusal {
  const text = TEXTS[code] ?? REFUSALS[code];
  return text ?? (code in OBJECT_ERRORS || code in PUBLICATION_ERRORS ? DAMAGED : OWN_FAULT);
}
