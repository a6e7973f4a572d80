/**
 * What goes wrong with a host that is passed through to has one of two names: no answer, or one that is not an answer.
 */
import { reasonOf } from '../../core/errors.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { connectionReason } from '../content/connection-reason.ts';
import { ReaderError } from '../errors.ts';

/** Node.js's names for answers that break the protocol. */
const BROKEN_ANSWER = /^(?:HPE_|ERR_INVALID_|ERR_HTTP_)/;

export function describeFailure(error: unknown, host: string): ReaderError {
  if (error instanceof ReaderError) return error;
  if (BROKEN_ANSWER.test(systemCode(error) ?? ''))
    return new ReaderError('host-answer', `${host} gave a malformed answer: ${reasonOf(error)}`, { cause: error });
  return new ReaderError('host-unreachable', `${host} could not be reached: ${connectionReason(error)}`, {
    cause: error,
  });
}
