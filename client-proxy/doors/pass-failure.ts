/**
 * What goes wrong with a host that is passed through to has one of two names: no answer, or one that is not an answer. The page that asked may
 * read what is said here, so it tells no addresses: those are in the cause.
 */
import { reasonOf } from '../../core/errors.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';

/** Node.js's names for answers that break the protocol. */
const BROKEN_ANSWER = /^(?:HPE_|ERR_INVALID_|ERR_HTTP_)/;

const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such name',
  EAI_AGAIN: 'no name server answers',
  ECONNREFUSED: 'it takes no connection',
  ECONNRESET: 'it broke off the connection',
  EPIPE: 'it broke off the connection',
  ETIMEDOUT: 'it does not answer',
  EHOSTUNREACH: 'there is no way to it',
  ENETUNREACH: 'there is no way to it',
};

export function describeFailure(error: unknown, host: string): ReaderError {
  if (error instanceof ReaderError) return error;
  if (BROKEN_ANSWER.test(systemCode(error) ?? ''))
    return new ReaderError('host-answer', `${host} gave a malformed answer: ${reasonOf(error)}`, { cause: error });
  return new ReaderError('host-unreachable', `${host} could not be reached: ${wordsFor(error)}`, { cause: error });
}

/** Of several addresses that were tried, what the last one met. */
function wordsFor(error: unknown): string {
  const one = error instanceof AggregateError ? error.errors.at(-1) : error;
  const isOfSystem = one instanceof Error && 'syscall' in one;
  return WORDS[systemCode(one) ?? ''] ?? (isOfSystem ? 'the connection failed' : reasonOf(one));
}
