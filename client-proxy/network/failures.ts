/** Errors of connections to other machines: Node.js's and undici's, sorted, and in words that name no addresses. */
import { reasonOf } from '../../core/errors.ts';
import { innermost, systemCode } from '../../node-support/system-error.ts';

const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such name',
  EAI_AGAIN: 'no name server answers',
  ECONNREFUSED: 'it refused the connection',
  ECONNRESET: 'it broke off the connection',
  EPIPE: 'it broke off the connection',
  UND_ERR_SOCKET: 'it broke off the connection',
  ETIMEDOUT: 'it does not answer',
  UND_ERR_CONNECT_TIMEOUT: 'it does not answer',
  UND_ERR_HEADERS_TIMEOUT: 'nothing came for too long',
  UND_ERR_BODY_TIMEOUT: 'nothing came for too long',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
};

/** Codes for answers that break the protocol. */
const BROKEN_ANSWER =
  /^(?:HPE_|ERR_INVALID_|ERR_HTTP_|UND_ERR_(?:HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH|RES_EXCEEDED_MAX_SIZE)$)/;
/** Texts of undici's errors without a code, or with one that has other causes, too. */
const PARSER_ERROR = 'HTTPParserError';
const BROKEN_ANSWER_MESSAGE = /^bad (?:response|upgrade)$/;
/** Texts of llhttp for a first line that is not HTTP; undici has no code for it. */
const FIRST_LINE = /\b(?:Expected HTTP\/|Invalid HTTP version)/;
const BROKEN_OFF = /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/;

/** The end of a request whose client has closed its connection: no failure, and nothing to report. One object, because most early ends are this one. */
export const CLIENT_LEFT = new Error('the client left');

/** Tells whether a request ended only because its client left, however the error was wrapped. */
export function isClientGone(error: unknown): boolean {
  return innermost(error) === CLIENT_LEFT;
}

/** Tells whether there was an answer, and it broke the rules of HTTP. */
export function isBrokenAnswer(error: unknown): boolean {
  const { name, message = '' } = error as Partial<Error>;
  return BROKEN_ANSWER.test(systemCode(error) ?? '') || name === PARSER_ERROR || BROKEN_ANSWER_MESSAGE.test(message);
}

/** Tells whether the other side broke off the connection. */
export function isBrokenOff(error: unknown): boolean {
  return BROKEN_OFF.test(systemCode(error) ?? '') && !isBrokenAnswer(error);
}

/** Tells whether what came did not even begin like an answer of HTTP. */
export function isOtherProtocol(error: unknown): boolean {
  return isBrokenAnswer(error) && FIRST_LINE.test((error as Partial<Error>).message ?? '');
}

/** Names the reason without addresses: the page that asked may read it. After several attempts, it is that of the last. */
export function connectionReason(error: unknown): string {
  const one = error instanceof AggregateError ? error.errors.at(-1) : error;
  const isOfSystem = one instanceof Error && 'syscall' in one;
  return WORDS[systemCode(one) ?? ''] ?? (isOfSystem ? 'the connection failed' : reasonOf(one));
}
