import { CodedError, type CodedErrorOptions } from '../errors.ts';

/** What can go wrong for a reader before an object is there to be checked. */
export type ReadingErrorCode =
  | 'path-refused'
  | 'no-such-document'
  | 'object-missing'
  | 'content-host-answer'
  | 'content-host-unreachable';

/** A document could not be had. Nothing was released. */
export class ReadingError extends CodedError<ReadingErrorCode> {
  constructor(code: ReadingErrorCode, message: string, options?: CodedErrorOptions) {
    super(code, message, options);
  }
}
