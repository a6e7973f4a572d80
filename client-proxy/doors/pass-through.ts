/** Requests for sites that this reader is not connected with: passed on and back untouched, streaming, whatever the method. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { innermost } from '../../node-support/system-error.ts';
import { watchAnswer } from '../content/answer-watch.ts';
import { isBrokenOff } from '../content/broken-answer.ts';
import type { Upstream } from '../content/upstream.ts';
import { ReaderError } from '../errors.ts';
import { CLIENT_LEFT } from './client-left.ts';
import { hasBody } from './message-checks.ts';
import { type AnswerHead, passAnswer, passInterimAnswers } from './pass-answer.ts';
import { describeFailure } from './pass-failure.ts';
import { passGet } from './pass-get.ts';
import { beginRequest, isPlainGet, passBody, passesExpectation } from './pass-request.ts';
import { type AbsoluteTarget, authorityOf } from './request-target.ts';

const PROTECTED_MEDIA_TYPE = 'application/cache-protected';

/** Methods that may be sent again where no answer came. RFC 9110 section 9.2.1 */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/**
 * @param seenProtected - told where the answer is a protected object, of a site that could be connected; it passes all the same
 * @throws ReaderError `port-refused`, `host-unreachable`, `host-answer`, `local-refused`, `loop`; if `response.headersSent`, the caller must
 * end the transfer visibly incomplete
 */
export async function passThrough(
  upstream: Upstream,
  target: AbsoluteTarget,
  request: IncomingMessage,
  response: ServerResponse,
  seenProtected: () => unknown,
): Promise<void> {
  const answered = ({ statusCode, headers: { 'content-type': type = '' } }: AnswerHead) => {
    if (statusCode === 200 && type.startsWith(PROTECTED_MEDIA_TYPE)) seenProtected();
  };
  try {
    if (isPlainGet(request) && (await passGet(upstream, target, request, response, answered))) return;
    if (await attempt(upstream, target, request, response, answered)) return;
    await attempt(upstream, target, request, response, answered, true);
  } catch (error) {
    throw describeFailure(error, authorityOf(target));
  }
}

/** @returns whether it was answered; if not, a kept connection closed just when it was used again, and the request may be sent once more */
function attempt(
  upstream: Upstream,
  target: AbsoluteTarget,
  request: IncomingMessage,
  response: ServerResponse,
  answered: (answer: AnswerHead) => void,
  isLast = false,
): Promise<boolean> {
  const outgoing = beginRequest(upstream, target, request);
  if (request.headers.expect !== undefined && request.httpVersion !== '1.0' && !passesExpectation(request))
    response.writeContinue();
  const watched = watchAnswer(outgoing);
  const isRepeatable = !isLast && SAFE.has(outgoing.method) && !hasBody(request);
  const left = () => outgoing.destroy(CLIENT_LEFT);
  response.on('close', left);
  let answer: IncomingMessage | undefined;
  return new Promise<boolean>((resolve, reject) => {
    passInterimAnswers(outgoing, request, response);
    outgoing.on('timeout', () => outgoing.destroy(new Error('nothing came for too long')));
    outgoing.on('error', (error) => {
      const wasClosing = watched.isKept && isBrokenOff(innermost(error)); // beneath the name of whose it is
      if (isRepeatable && wasClosing && !response.destroyed) resolve(false);
      else reject(error);
    });
    outgoing.on('upgrade', (_answer, remote) => {
      // The connection is nobody's now: an error of it that nobody hears would end the program.
      remote.on('error', () => undefined).destroy();
      reject(new ReaderError('host-answer', 'the host switched to another protocol unasked'));
    });
    outgoing.on('close', () => {
      if (!answer) reject(new Error('the connection was closed'));
    });
    outgoing.on('response', (received) => {
      answer = received;
      answered(received);
      passAnswer(received, watched, request, response).then(() => resolve(true), reject);
    });
    passBody(request, outgoing);
  }).finally(() => {
    response.off('close', left);
    // Answered before all of it was sent, or not to be passed on: the rest is of no use to the host.
    if (!outgoing.writableFinished || !answer?.complete) outgoing.destroy();
  });
}
