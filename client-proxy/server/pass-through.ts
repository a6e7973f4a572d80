/** Requests for sites that this reader is not connected with: passed on and back, streaming, whatever the method. */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { reasonOf } from '../../core/errors.ts';
import { ChannelError } from '../../core/httpcrypt/errors.ts';
import { hasBody, IDEMPOTENT } from '../../node-support/http-requests.ts';
import { ReaderError } from '../errors.ts';
import { CLIENT_LEFT, connectionReason, isBrokenAnswer, isBrokenOff } from '../network/failures.ts';
import { type AbsoluteTarget, authorityOf } from '../network/request-target.ts';
import type { Upstream } from '../network/upstream.ts';
import { passAnswer, passInterimAnswers, writeSwitch } from './pass-answer.ts';
import { beginRequest, passBody, passesExpectation } from './pass-request.ts';
import { joinSockets } from './tunnel.ts';

const PROTECTED_MEDIA_TYPE = 'application/cache-protected';

export interface Passing {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The client's connection, and what came behind the request, where it asks for another protocol. */
  readonly switching?: { readonly client: Duplex; readonly head: Buffer };
  /** Called where the answer is a protected object, of a site that could be connected; it passes all the same. */
  readonly seenProtected?: () => unknown;
}

/**
 * @returns the connection to the host where both sides switched to another protocol
 * @throws ReaderError `port-refused`, `host-unreachable`, `host-answer`, `local-refused`, `loop`; if `response.headersSent`, the caller must
 * end the transfer visibly incomplete
 */
export async function passThrough(
  upstream: Upstream,
  target: AbsoluteTarget,
  passing: Passing,
): Promise<Duplex | undefined> {
  const isRepeatable = IDEMPOTENT.has(passing.request.method ?? '') && !hasBody(passing.request);
  try {
    const outcome = await exchange(upstream, target, passing, isRepeatable);
    if (outcome !== 'closing') return outcome;
    return (await exchange(upstream, target, passing, false)) as Duplex | undefined;
  } catch (error) {
    throw describeFailure(error, authorityOf(target));
  }
}

/**
 * @param isRepeatable - whether the request may be sent once more; otherwise it goes on a connection of its own
 * @returns `closing` where a kept connection closed just when it was used again, and the request may be sent once more
 */
async function exchange(
  upstream: Upstream,
  target: AbsoluteTarget,
  { request, response, switching, seenProtected }: Passing,
  isRepeatable: boolean,
): Promise<Duplex | 'closing' | undefined> {
  const upgrade = switching ? ['Connection', 'Upgrade', 'Upgrade', request.headers.upgrade ?? ''] : [];
  const outgoing = beginRequest(upstream, target, request, upgrade, isRepeatable);
  if (request.headers.expect !== undefined && request.httpVersion !== '1.0' && !passesExpectation(request))
    response.writeContinue();
  const gaveNothing = watchSilence(outgoing);
  const left = () => outgoing.destroy(CLIENT_LEFT);
  response.on('close', left);
  const { promise, resolve, reject } = Promise.withResolvers<Duplex | 'closing' | undefined>();
  let answer: IncomingMessage | undefined;
  passInterimAnswers(outgoing, request, response);
  outgoing.on('timeout', () => outgoing.destroy(new Error('nothing came for too long')));
  outgoing.on('error', (error) => {
    if (isRepeatable && isBrokenOff(error) && gaveNothing() && !response.destroyed) resolve('closing');
    else reject(answer ? error : (upstream.parent?.explain(error) ?? error));
  });
  outgoing.on('close', () => answer ?? reject(new Error('the connection was closed')));
  outgoing.on('response', (received) => {
    answer = received;
    try {
      upstream.parent?.checkStatus(received.statusCode);
      if (isProtected(received.statusCode, received.headers['content-type'])) seenProtected?.();
      passAnswer(received, outgoing, request, response).then(resolve, reject);
    } catch (error) {
      reject(error);
    }
  });
  outgoing.on('upgrade', (received, remote, remoteHead) => {
    answer = received;
    remote.on('error', () => undefined); // an error without a listener would end the program
    if (switching === undefined) {
      remote.destroy();
      return reject(new ReaderError('host-answer', 'the host switched to another protocol unasked'));
    }
    writeSwitch(received, response, switching.client);
    remote.setTimeout(0);
    joinSockets(switching.client, switching.head, remote, remoteHead);
    resolve(remote);
  });
  passBody(request, outgoing);
  return promise.finally(() => {
    response.off('close', left);
    // Answered before all of it was sent, or not to be passed on: the rest is of no use to the host.
    if (!outgoing.writableFinished || !answer?.complete) outgoing.destroy();
  });
}

/** @returns whether the request was sent on a kept connection and no byte came back: the other side may have been closing it just then */
function watchSilence(outgoing: ClientRequest): () => boolean {
  let before: number | undefined;
  outgoing.once('socket', (socket) => {
    before = socket.bytesRead;
  });
  return () => outgoing.reusedSocket && (before === undefined || outgoing.socket?.bytesRead === before);
}

/** Tells whether an answer is a protected object. */
export function isProtected(status: number | undefined, type: string | undefined): boolean {
  return status === 200 && type?.startsWith(PROTECTED_MEDIA_TYPE) === true;
}

/** Says which failure of a host it is. */
export function describeFailure(cause: unknown, host: string): ReaderError | ChannelError {
  if (cause instanceof ReaderError || cause instanceof ChannelError) return cause;
  if (isBrokenAnswer(cause))
    return new ReaderError('host-answer', `${host} gave a malformed answer: ${reasonOf(cause)}`, { cause });
  return new ReaderError('host-unreachable', `${host} could not be reached: ${connectionReason(cause)}`, { cause });
}
