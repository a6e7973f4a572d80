import { type ErrorCatalogue, errorClass } from '../core/errors.ts';

/** Errors of a reader before an object is there to be checked. */
export const READING_ERRORS = {
  'path-refused': {
    means: 'the address has a spelling that no document has',
    remedy: 'check the address for doubled slashes, dots and odd characters',
  },
  'no-such-document': {
    means: 'the signed publication has no such document',
    remedy: 'check the address',
  },
  'object-missing': {
    means: 'the content host does not have a document that the publication names',
    remedy: 'try again in a few minutes; if it stays so, tell the publisher this code',
  },
  'content-host-answer': {
    means: 'the content host answered with something else',
    remedy: 'try again in a few minutes; if it stays so, tell the publisher this code',
  },
  'content-host-unreachable': {
    means: 'the content host did not answer',
    remedy: 'check the connection, and try again',
  },
} as const satisfies ErrorCatalogue;

export type ReadingErrorCode = keyof typeof READING_ERRORS;

/** A document could not be had. Nothing was released. */
export class ReadingError extends errorClass(READING_ERRORS) {}
