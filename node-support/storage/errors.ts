import { CodedError, type CodedErrorOptions } from '../../core/errors.ts';

/** What can go wrong where files are put for content hosts. docs/errors.md documents each. */
export type StorageErrorCode =
  /** What was named is neither a directory nor a bucket. */
  | 'target-invalid'
  /** A name that would leave the target, or that no target can hold. */
  | 'target-path'
  /** It does not answer, or is not there. */
  | 'target-unreachable'
  /** It does not let us in. */
  | 'target-denied'
  /** It cannot do what was asked: full, read-only, or out of order. */
  | 'target-failed'
  /** Somebody else has changed a file meanwhile. */
  | 'target-changed';

/** Files could not be put into, or read from, a target. What was there before is whole. */
export class StorageError extends CodedError<StorageErrorCode> {
  constructor(code: StorageErrorCode, message: string, options?: CodedErrorOptions) {
    super(code, message, options);
  }
}
