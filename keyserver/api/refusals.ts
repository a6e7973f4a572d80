/** Finds the status and the code with which a request that cannot be answered is refused. */
import type { Logger } from 'pino';
import { KeyError } from '../../core/keys/errors.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { isDiskFull } from '../../node-support/disk-full.ts';
import { KeyServerError, type KeyServerErrorCode } from '../errors.ts';

const STATUS: Partial<Record<KeyServerErrorCode, number>> = {
  'argument-invalid': 400,
  'name-refused': 400,
  'no-such-plan': 404,
  'mail-off': 409,
  'mail-refused': 409,
  'no-such-subscriber': 404,
  revoked: 409,
  'code-refused': 403,
  'seats-taken': 409,
  'too-many-devices': 409,
  'request-refused': 403,
  'stale-request': 400,
  'no-provider': 503,
  'token-refused': 401,
  'bundle-foreign': 409,
  'bundle-older': 409,
  'publisher-key-changed': 409,
  'timestamp-key-unusable': 409,
  'store-busy': 503,
  'clock-off': 503,
  busy: 503,
  'mail-failed': 503,
  'too-many-requests': 429,
};

/** Codes of malformed publications; the rest disagrees with what is known here. */
const MALFORMED: readonly string[] = ['metadata-malformed', 'metadata-too-large', 'metadata-signature'];

/** Answer to a request that failed. What is not foreseen is logged by its kind and where it happened, and not sent. */
export function outcomeOf(error: unknown, log: Logger): { readonly status: number; readonly code: string } {
  const refusal = refusalOf(error);
  if (refusal?.code === 'disk-full') log.error({ code: refusal.code }, 'the disk is full');
  if (refusal) return refusal;
  log.error({ err: error }, 'unforeseen error');
  return { status: 500, code: 'internal' };
}

/** `undefined` for what was not foreseen. */
export function refusalOf(error: unknown): { readonly status: number; readonly code: string } | undefined {
  if (isDiskFull(error)) return { status: 503, code: 'disk-full' };
  if (error instanceof KeyError) return { status: 400, code: error.code };
  if (error instanceof PublicationError)
    return { status: MALFORMED.includes(error.code) ? 400 : 409, code: error.code };
  const status = error instanceof KeyServerError ? STATUS[error.code] : undefined;
  return status === undefined ? undefined : { status, code: (error as KeyServerError).code };
}
