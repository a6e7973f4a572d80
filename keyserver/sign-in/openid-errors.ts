/** Errors of an OpenID provider in our words, with its own. */
import * as client from 'openid-client';
import { printable } from '../../node-support/printable.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { KeyServerError, type KeyServerErrorCode } from '../errors.ts';

const LONGEST_WORDS = 300;
/** Client authentication failed (RFC 6749 section 5.2), or the client may not do this. */
const CLIENT_REFUSED: readonly unknown[] = ['invalid_client', 'unauthorized_client'];

/** @returns what a failed discovery means for `issuer`, as the configuration has it */
export function discoveryError(issuer: string, error: unknown): KeyServerError {
  const told = toldIssuer(error);
  const status = statusOf(error);
  if (told !== undefined)
    return unusable(`the OpenID provider calls itself ${printable(told)}, and "openid.issuer" is ${issuer}`, error);
  if (status !== undefined && status < 500)
    return unusable(`"openid.issuer" ${issuer} does not describe itself: it answers ${status}`, error);
  const reason = status === undefined ? `does not answer: ${wordsOf(error)}` : `answers ${status}`;
  return new KeyServerError('openid-unreachable', `the OpenID provider ${issuer} ${reason}`, { cause: error });
}

/** @returns why nobody is signed in by an answer of the provider */
export function answerError(error: unknown): KeyServerError {
  const of = (code: KeyServerErrorCode, what: string) =>
    new KeyServerError(code, `${what}: ${wordsOf(error)}`, { cause: error });
  const code = error instanceof client.ClientError ? error.code : undefined;
  if (error instanceof client.AuthorizationResponseError && error.error === 'access_denied')
    return of('openid-cancelled', 'the person did not sign in at the OpenID provider');
  if (refusesClient(error))
    return unusable(`the OpenID provider refuses "openid.clientId" or its secret: ${wordsOf(error)}`, error);
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED')
    return of('openid-clock-off', 'by this clock the answer of the OpenID provider is too old');
  if (code === 'OAUTH_TIMEOUT' || error instanceof TypeError)
    return of('openid-unreachable', 'the OpenID provider does not answer');
  return of('openid-refused', 'the answer of the OpenID provider is not accepted');
}

export function unusable(message: string, cause?: unknown): KeyServerError {
  return new KeyServerError('openid-unusable', message, { cause });
}

/** Tells whether the provider does not take the client, or the way in which it says its secret. */
export function refusesClient(error: unknown): boolean {
  return error instanceof client.WWWAuthenticateChallengeError
    ? error.status === 401
    : error instanceof client.ResponseBodyError && CLIENT_REFUSED.includes(error.error);
}

/** The address that the provider calls itself, where it is another one than that which was asked. */
export function toldIssuer(error: unknown): string | undefined {
  if (!(error instanceof client.ClientError && error.code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'))
    return undefined;
  const { body } = (error.cause ?? {}) as { readonly body?: { readonly issuer?: unknown } };
  return typeof body?.issuer === 'string' ? body.issuer : undefined;
}

/** The status that the provider answered with, if it did. */
export function statusOf(error: unknown): number | undefined {
  const { status, cause } = error as { readonly status?: unknown; readonly cause?: unknown };
  return typeof status === 'number' ? status : cause instanceof Response ? cause.status : undefined;
}

/** Words of the provider, or of the library, without those that may be an address or a code. */
function wordsOf(error: unknown): string {
  const said = error instanceof client.WWWAuthenticateChallengeError ? error.cause[0]?.parameters : error;
  const { error: name, error_description: more, code } = (said ?? {}) as Record<string, unknown>;
  const reason = error instanceof TypeError && error.cause ? systemReason(error.cause) : (code ?? statusOf(error));
  const words = [name ?? reason ?? 'no reason given', more ?? ''].join(' ').trim().split(/\s+/);
  return printable(words.map((word) => (/@|[\w-]{24}/.test(word) ? '…' : word)).join(' ')).slice(0, LONGEST_WORDS);
}
