/** Maps errors of a bucket's server and of the network to codes. */
import { reasonOf } from '../../core/errors.ts';
import { systemCode, systemReason } from '../system-error.ts';
import { OutOfTime } from '../within-time.ts';
import { StorageError, type StorageErrorCode } from './errors.ts';

/** @param what - such as `cannot read /a in s3://bucket` */
export function storageError(what: string, error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  return new StorageError(codeOf(error), `${what}: ${describe(error)}`, { cause: error });
}

/** Tells whether a server answered with one of these. */
export function isStatus(error: unknown, ...statuses: number[]): boolean {
  return error instanceof Error && statuses.includes(statusOf(error) ?? 0);
}

/** Tells whether it is a file that is not there, not the bucket. */
export function isMissing(error: unknown): boolean {
  return isStatus(error, 404) && nameOf(error) !== 'NoSuchBucket';
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

function statusOf(error: unknown): number | undefined {
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
  return $metadata?.httpStatusCode;
}

/** Tells whether time was up: ours, of an operation; or the client's, of one attempt or of a line on which nothing moved. */
function isTimeout(error: unknown): boolean {
  return error instanceof OutOfTime || nameOf(error) === 'TimeoutError';
}

function codeOf(error: unknown): StorageErrorCode {
  if (reasonOf(error) === 'Region is missing') return 'region-missing'; // the client has no code for it
  if (nameOf(error) === 'CredentialsProviderError' || isStatus(error, 401, 403)) return 'target-failed';
  if (isTimeout(error) || nameOf(error) === 'NoSuchBucket' || statusOf(error) === undefined)
    return 'target-unreachable';
  return 'target-failed';
}

/** Tells whether the server has another protocol, whose answers cannot be parsed: a web host, or another port. */
function isNoS3(error: unknown): boolean {
  return statusOf(error) !== undefined && /Deserialization error|XML parse error/.test(reasonOf(error));
}

/** Describes it in few words: the server's own, or the system's. They have nothing of the request, which was signed. */
function describe(error: unknown): string {
  if (isTimeout(error)) return new OutOfTime().message;
  // OpenSSL says on several lines, for its developers, why there is no TLS connection; among them are words for people.
  const [, tls] = /:SSL routines:[^:]*:([^:]+):/.exec(reasonOf(error)) ?? [];
  if (tls !== undefined) return `there is no TLS at the other end, or another one (${tls})`;
  if (systemCode(error) !== undefined && statusOf(error) === undefined) return systemReason(error);
  const status = statusOf(error);
  if (isNoS3(error)) return `it answered ${status}, and not as an S3 server does`;
  const text = reasonOf(error)
    .replace(/[\p{Cc}\p{Cf}]/gu, ' ')
    .slice(0, 200);
  return status === undefined ? text : `${nameOf(error)} (${status}): ${text}`;
}
