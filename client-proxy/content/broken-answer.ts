import { systemCode } from '../../node-support/system-error.ts';

/** Node.js's and undici's names for answers that break the protocol. */
const CODES =
  /^(?:HPE_|ERR_INVALID_|ERR_HTTP_|UND_ERR_(?:HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH|RES_EXCEEDED_MAX_SIZE)$)/;
/** Of what undici gives no code of its own, or one that has other causes, too. */
const PARSER_ERROR = 'HTTPParserError';
const UNASKED = 'bad response';
const MESSAGES = /^bad (?:response|upgrade)$/;
/** What llhttp says of a first line that is none of HTTP; undici has no code for it. */
const FIRST_LINE = /\b(?:Expected HTTP\/|Invalid HTTP version)/;

/** Whether there was an answer, and it was none that HTTP knows. */
export function isBrokenAnswer(error: unknown): boolean {
  const { name, message = '' } = error as Partial<Error>;
  return CODES.test(systemCode(error) ?? '') || name === PARSER_ERROR || MESSAGES.test(message);
}

/** Whether undici took what came for an answer that has no place here: a 100 that it had not asked for, or one to no request. */
export function isUnaskedAnswer(error: unknown): boolean {
  return error instanceof Error && error.message === UNASKED;
}

/** Names of a connection that was broken off. */
const BROKEN_OFF = /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/;

/** Whether the other side broke off the connection. */
export function isBrokenOff(error: unknown): boolean {
  return BROKEN_OFF.test(systemCode(error) ?? '') && !isBrokenAnswer(error);
}

/** Whether what came did not even begin as an answer of HTTP does. */
export function isOtherProtocol(error: unknown): boolean {
  return isBrokenAnswer(error) && FIRST_LINE.test((error as Partial<Error>).message ?? '');
}
