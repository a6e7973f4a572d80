/** Requests for hosts that the reader has chosen HTTPCrypt for: passed on and back like those in clear, and by nothing else. */
import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { ChannelAnswer, HttpcryptChannel } from '../../httpcrypt/client/channel.ts';
import { drained } from '../../node-support/drained.ts';
import { fieldOf } from '../../node-support/end-to-end-fields.ts';
import { hasBody } from '../../node-support/http-requests.ts';
import { CLIENT_LEFT } from '../network/failures.ts';
import { type AbsoluteTarget, authorityOf } from '../network/request-target.ts';
import { forwardedFields } from './messages.ts';
import { requestFields } from './pass-request.ts';
import { describeFailure, isProtected, type Passing } from './pass-through.ts';

/**
 * Leaves out interim answers and trailers.
 *
 * @param silence - milliseconds for which nothing may come
 * @throws ChannelError; otherwise as passThrough
 */
export async function passByHttpcrypt(
  channel: HttpcryptChannel,
  target: AbsoluteTarget,
  { request, response, seenProtected }: Passing,
  silence: number,
): Promise<void> {
  const leaving = new AbortController();
  const left = () => leaving.abort(CLIENT_LEFT);
  response.once('close', left);
  if (request.headers.expect !== undefined && request.httpVersion !== '1.0') response.writeContinue();
  try {
    const answer = await channel.send({
      method: request.method ?? 'GET',
      path: target.path,
      fields: requestFields(request),
      body: hasBody(request) ? request.iterator({ destroyOnReturn: false }) : undefined,
      headersTimeout: silence,
      bodyTimeout: silence,
      signal: leaving.signal,
    });
    if (isProtected(answer.status, fieldOf('content-type', answer.fields))) seenProtected?.();
    await answerWith(answer, response);
  } catch (error) {
    throw describeFailure(error, authorityOf(target));
  } finally {
    response.off('close', left);
    request.resume(); // the rest is of no use any more, if there is one
  }
}

/** Passes an answer back; a broken one never seems whole, as in passAnswer. */
async function answerWith({ status, fields, body }: ChannelAnswer, response: ServerResponse): Promise<void> {
  const dropped = status === 204 ? ['content-length', 'trailer'] : ['trailer'];
  response.sendDate = false;
  response.strictContentLength = true;
  try {
    response.writeHead(status, forwardedFields(fields, '1.1', dropped));
    response.write('', 'latin1'); // the head
    for await (const piece of body) if (!response.write(piece) && !response.destroyed) await drained(response);
    response.end();
  } catch (error) {
    if (!response.chunkedEncoding && response.socket instanceof Socket) response.socket.resetAndDestroy();
    throw error;
  }
}
