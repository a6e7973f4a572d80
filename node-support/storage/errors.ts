import { CodedError, type CodedErrorOptions, type ErrorCatalogue } from '../../core/errors.ts';

/** What can go wrong where files are put for content hosts. docs/errors.md documents each. */
export const STORAGE_ERRORS = {
  'target-invalid': {
    means: 'what was named is neither a directory nor `s3://bucket/prefix`',
    remedy: 'correct it',
  },
  'target-path': {
    means: 'a name that no target can hold, or a link in the target that leads out of it',
    remedy: 'rename the document; remove the link',
  },
  'target-unreachable': {
    means: 'nobody answers there, not in time, or not to the end; or there is no such bucket',
    remedy: 'check name, `AWS_ENDPOINT_URL_S3` and network; try again',
  },
  'target-denied': {
    means: 'it does not let us in, or not write',
    remedy: 'check credentials and permissions',
  },
  'target-failed': {
    means: 'it cannot do it: full, read-only, out of order; or it lists without an end, or more than a site has',
    remedy: 'see the message; then publish again, and it goes on from there',
  },
  'target-changed': {
    means:
      'somebody else changed the same file at the same moment: another run for the same site, perhaps of a copy of the workspace. Nothing of theirs was replaced',
    remedy: 'publish again',
  },
} as const satisfies ErrorCatalogue;

export type StorageErrorCode = keyof typeof STORAGE_ERRORS;

/** Files could not be put into, or read from, a target. What was there before is whole. */
export class StorageError extends CodedError<StorageErrorCode> {
  constructor(code: StorageErrorCode, message: string, options?: CodedErrorOptions) {
    super(STORAGE_ERRORS, code, message, options);
  }
}
