/** What a bucket's server, or the way to it, says, in our codes and few words. */
import { reasonOf } from '../../core/errors.ts';
import { systemCode, systemReason } from '../system-error.ts';
import { OutOfTime } from '../within-time.ts';
import { StorageError, type StorageErrorCode } from './errors.ts';

/** @param what - such as `cannot read /a in s3://bucket` */
export function storageError(what: string, error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  return new StorageError(codeOf(error), `${what}: ${describe(error)}`, { cause: error, ...hintOf(error) });
}

/** Whether a server answered with one of these. */
export function isStatus(error: unknown, ...statuses: number[]): boolean {
  return error instanceof Error && statuses.includes(statusOf(error) ?? 0);
}

/** Whether it is a file that is not there, not the bucket. */
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

/** Ours, of a whole operation; or the client's, of one attempt or of a line on which nothing moved. */
function isTimeout(error: unknown): boolean {
  return error instanceof OutOfTime || nameOf(error) === 'TimeoutError';
}

function codeOf(error: unknown): StorageErrorCode {
  if (nameOf(error) === 'CredentialsProviderError' || isStatus(error, 401, 403)) return 'target-denied';
  if (isTimeout(error) || nameOf(error) === 'NoSuchBucket' || statusOf(error) === undefined)
    return 'target-unreachable';
  return 'target-failed';
}

/** What does not speak the protocol, so that its answers cannot be parsed: a web host, or another port of the server. */
function isNoS3(error: unknown): boolean {
  return statusOf(error) !== undefined && /Deserialization error|XML parse error/.test(reasonOf(error));
}

/** Why there is no TLS connection: of what OpenSSL says for its developers, on several lines, the words for people. */
function tlsReason(error: unknown): string | undefined {
  return /:SSL routines:[^:]*:([^:]+):/.exec(reasonOf(error))?.[1];
}

function hintOf(error: unknown): { hint?: string } {
  if (nameOf(error) === 'CredentialsProviderError')
    return { hint: 'give credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in ~/.aws/credentials' };
  if (reasonOf(error).includes('Region is missing'))
    return {
      hint: 'say where the bucket is: AWS_REGION=eu-central-1 in the environment, or "region" in ~/.aws/config',
    };
  if (nameOf(error) === 'NoSuchBucket') return { hint: 'make the bucket first; wispr makes none' };
  if (systemCode(error) === 'ERR_INVALID_URL')
    return { hint: 'write AWS_ENDPOINT_URL_S3 as a whole URL, such as http://127.0.0.1:9000' };
  if (isTimeout(error))
    return { hint: 'try again; if it stays so, ask whoever runs the server of the bucket, or look at the connection' };
  if (tlsReason(error) !== undefined)
    return {
      hint: 'see that host and port in AWS_ENDPOINT_URL_S3 are right, and write http:// there if that server has no certificate',
    };
  if (isNoS3(error))
    return {
      hint: 'AWS_ENDPOINT_URL_S3 has to be the address of an S3 API, with its port, and with https:// where it has that; if it is, try again later',
    };
  if (codeOf(error) === 'target-denied')
    return {
      hint: 'check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials: they have to be of this server, and allowed to list, read, write and remove there',
    };
  if (codeOf(error) === 'target-unreachable')
    return {
      hint: "the server is the one of AWS_ENDPOINT_URL_S3, or Amazon's where that is not set: see that it is meant",
    };
  return {};
}

/** In few words: the server's own, or the system's. Nothing of the request, which was signed. */
function describe(error: unknown): string {
  if (isTimeout(error)) return new OutOfTime().message;
  const tls = tlsReason(error);
  if (tls !== undefined) return `there is no TLS at the other end, or another one (${tls})`;
  if (systemCode(error) !== undefined && statusOf(error) === undefined) return systemReason(error);
  const status = statusOf(error);
  if (isNoS3(error)) return `it answered ${status}, and not as an S3 server does`;
  const text = reasonOf(error)
    .replace(/[\p{Cc}\p{Cf}]/gu, ' ')
    .slice(0, 200);
  return status === undefined ? text : `${nameOf(error)} (${status}): ${text}`;
}
