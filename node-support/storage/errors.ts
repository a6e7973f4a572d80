import type { ErrorCatalogue } from '../../core/errors.ts';
import { fileErrorClass } from '../disk-full.ts';

/** Errors where files are put for content hosts. docs/generated/errors.md documents each. */
export const STORAGE_ERRORS = {
  'target-unreachable': {
    means: 'the target does not answer in time, or the bucket does not exist',
    remedy: 'check name, `AWS_ENDPOINT_URL_S3` and network',
  },
  'region-missing': {
    means: "the bucket is Amazon's, and nothing says in which region it is",
    remedy: 'set `AWS_REGION`, such as `AWS_REGION=eu-central-1`, or `region` in `~/.aws/config`',
  },
  'target-failed': {
    means: 'the target refuses access, is read-only or failing, or its listing does not end',
    remedy:
      'see the message; check the permissions, or `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`; then publish again',
  },
  'target-changed': {
    means: 'another run changed the same file at the same moment; it was not replaced',
    remedy: 'publish again',
  },
  'argument-invalid': {
    means: 'what was named is neither a directory nor `s3://bucket/prefix`',
    remedy:
      'for a directory with a colon in its name, write `./` before it; a bucket has 3 to 63 small letters, digits, hyphens and single dots',
  },
  'package-missing': {
    means: 'this installation of wispr has no client for buckets',
    remedy: '`npm install -g {packages}`; without `-g` where wispr was installed without it',
  },
  'path-refused': {
    means: 'the target cannot hold this name, or a link leads out of it',
    remedy: 'rename the document; remove the link',
  },
} as const satisfies ErrorCatalogue;

export type StorageErrorCode = keyof typeof STORAGE_ERRORS;

/** Files could not be put into, or read from, a target. What was there before is whole. */
export class StorageError extends fileErrorClass(STORAGE_ERRORS) {}
