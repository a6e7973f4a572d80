/**
 * What goes wrong with a host that is passed through to has one of two names: no answer, or one that is not an answer.
 */
import { reasonOf } from '../../core/errors.ts';
import { isBrokenAnswer } from '../content/broken-answer.ts';
import { connectionReason } from '../content/connection-reason.ts';
import { ReaderError } from '../errors.ts';

export function describeFailure(error: unknown, host: string): ReaderError {
  if (error instanceof ReaderError) return error;
  if (isBrokenAnswer(error))
    return new ReaderError('host-answer', `${host} gave a malformed answer: ${reasonOf(error)}`, { cause: error });
  return new ReaderError('host-unreachable', `${host} could not be reached: ${connectionReason(error)}`, {
    cause: error,
  });
}
