/** What the system says when the output cannot be written, in the publisher's own error. */
import { dirname } from 'node:path';
import { printable } from '../../node-support/printable.ts';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';

/** @throws PublishError `output-failed` in place of the system's error */
export async function toOutput<Result>(file: string, writing: Promise<Result>): Promise<Result> {
  try {
    return await writing;
  } catch (error) {
    throw outputError(file, error);
  }
}

/** {@link toOutput} for what is done in place; what is no error of the system stays as it is. */
export function toOutputNow<Result>(file: string, write: () => Result): Result {
  try {
    return write();
  } catch (error) {
    throw systemCode(error) === undefined ? error : outputError(file, error);
  }
}

function outputError(file: string, error: unknown): PublishError {
  const message = `cannot write ${printable(file)}: ${systemReason(error)}; what was there before is unchanged`;
  return new PublishError('output-failed', message, { cause: error, ...hintFor(error, file) });
}

function hintFor(error: unknown, file: string): { hint?: string } {
  switch (systemCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return { hint: 'the new output is written beside the old one: there has to be room for both' };
    case 'EEXIST':
      return { hint: 'this file system does not tell two names of your site apart; rename one' };
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return { hint: `make ${dirname(dirname(file))} writable, or choose another "out"` };
    case 'ENOENT':
      return { hint: 'no directory can be made there: choose another "out"' };
    default:
      return {};
  }
}
