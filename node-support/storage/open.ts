/** Finds the target that a text names. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadOptional } from '../optional-package.ts';
import { DirectoryTarget } from './directory.ts';
import { StorageError } from './errors.ts';
import type { S3Target } from './s3.ts';
import { isTargetPath, type Target } from './target.ts';

/** Amazon's rules for names; other servers keep to them. */
const BUCKET = /^(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/**
 * Opens a target. Nothing is asked of it yet.
 *
 * @param text - a directory, a `file:` URL, or `s3://bucket/prefix`
 * @param base - what relative directories are taken from
 * @throws StorageError `argument-invalid`, `package-missing`
 */
export async function openTarget(text: string, base = '.'): Promise<Target> {
  if (isBucket(text)) return openBucket(text);
  return new DirectoryTarget(resolve(base, directoryOf(text)));
}

export function isBucket(text: string): boolean {
  return text.startsWith('s3://');
}

/** Names a target in what people read, before it is opened: without credentials that do not belong into it. */
export function nameOfTarget(text: string): string {
  return text.replace(/^[^/]*:\/\/[^/]*@/, '…@');
}

/**
 * Opens a bucket, or a part of one. Nothing is asked of it yet.
 *
 * @param text - `s3://bucket/prefix`
 * @throws StorageError `argument-invalid`, `package-missing`
 */
export async function openBucket(text: string): Promise<S3Target> {
  const { bucket, prefix } = parseBucket(text);
  const fields = { packages: '@aws-sdk/client-s3@3 @aws-sdk/lib-storage@3' };
  const { S3Target } = await loadOptional(
    () => import('./s3.ts'),
    (cause) =>
      new StorageError('package-missing', 'buckets need two packages that are not installed', { cause, fields }),
  );
  return new S3Target(bucket, prefix);
}

function parseBucket(text: string): { bucket: string; prefix: string } {
  const [bucket = '', ...rest] = text.slice('s3://'.length).split('/');
  const prefix = rest.join('/').replace(/\/$/, '');
  // Credentials may be in it, so it is not repeated.
  if (!BUCKET.test(bucket) || (prefix !== '' && !isTargetPath(`/${prefix}`)))
    throw invalid('what begins with s3:// has to be like s3://bucket or s3://bucket/prefix');
  return { bucket, prefix };
}

function directoryOf(text: string): string {
  if (/^file:/i.test(text)) {
    try {
      return fileURLToPath(text);
    } catch (error) {
      throw invalid('this file: URL names no directory of this machine', error);
    }
  }
  if (text === '' || text.includes('\0') || /^[^/]*:/.test(text))
    throw invalid('a target is a directory or s3://bucket/prefix');
  return text;
}

function invalid(message: string, cause?: unknown): StorageError {
  return new StorageError('argument-invalid', message, { typed: true, cause });
}
