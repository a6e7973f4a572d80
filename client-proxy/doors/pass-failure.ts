/** What goes wrong with a host that is passed through to has one of two names: no answer, or one that is not an answer. */
import { reasonOf } from '../../core/errors.ts';
import { ReaderError } from '../errors.ts';

/** Node.js's names for answers that break the protocol. */
const BROKEN_ANSWER = /^(?:HPE_|ERR_INVALID_|ERR_HTTP_)/;

export function describeFailure(error: unknown, host: string): ReaderError {
  if (error instanceof ReaderError) return error;
  const { code = '' } = error as { code?: string };
  return BROKEN_ANSWER.test(code)
    ? new ReaderError('host-answer', `${host} gave a malformed answer: ${reasonOf(error)}`, { cause: error })
    : new ReaderError('host-unreachable', `${host} could not be reached: ${reasonOf(error)}`, { cause: error });
}
