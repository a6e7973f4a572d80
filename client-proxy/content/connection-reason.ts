import { reasonOf } from '../../core/errors.ts';
import { systemCode } from '../../node-support/system-error.ts';

const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such name',
  EAI_AGAIN: 'no name server answers',
  ECONNREFUSED: 'it takes no connection',
  ECONNRESET: 'it broke off the connection',
  EPIPE: 'it broke off the connection',
  UND_ERR_SOCKET: 'it broke off the connection',
  ETIMEDOUT: 'it does not answer',
  UND_ERR_CONNECT_TIMEOUT: 'it does not answer',
  UND_ERR_HEADERS_TIMEOUT: 'nothing came for too long',
  UND_ERR_BODY_TIMEOUT: 'nothing came for too long',
  EHOSTUNREACH: 'there is no way to it',
  ENETUNREACH: 'there is no way to it',
};

/**
 * Why another machine could not be reached. The page that asked may read it, and a page must not learn what leads where in the reader's network: so
 * it tells no addresses, which are in the error. Of several that were tried, it is what the last one met.
 */
export function connectionReason(error: unknown): string {
  const one = error instanceof AggregateError ? error.errors.at(-1) : error;
  const isOfSystem = one instanceof Error && 'syscall' in one;
  return WORDS[systemCode(one) ?? ''] ?? (isOfSystem ? 'the connection failed' : reasonOf(one));
}
