/** Requests that ask for another protocol on the same connection, WebSocket above all: passed on, and where the host agrees, joined. RFC 9110 section 7.8. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { watchAnswer } from '../content/answer-watch.ts';
import type { Upstream } from '../content/upstream.ts';
import { CLIENT_LEFT } from './client-left.ts';
import { forwardedFields, listOf } from './header-fields.ts';
import { hasBody } from './message-checks.ts';
import { passAnswer, passInterimAnswers, rawHead } from './pass-answer.ts';
import { describeFailure } from './pass-failure.ts';
import { beginRequest } from './pass-request.ts';
import { type AbsoluteTarget, authorityOf } from './request-target.ts';
import { joinSockets } from './sockets.ts';

/** HTTP/2 in clear by way of an upgrade is no more (RFC 9113 section 3.1), and would be a way past whatever looks at requests. */
const NEVER_PASSED = 'h2c';

/** Whether a request asks for an upgrade that could be passed on; with any other, the wish is left out, and the request is like all. */
export function asksForUpgrade(request: IncomingMessage): boolean {
  const { upgrade, connection } = request.headers;
  const protocols = listOf(upgrade);
  return (
    request.httpVersion === '1.1' &&
    protocols.length > 0 &&
    !protocols.includes(NEVER_PASSED) &&
    listOf(connection).includes('upgrade') &&
    !hasBody(request)
  );
}

/**
 * Passes the request on. Where the host switches, the connections are joined; where it answers, its answer is passed back by `response`, which ends
 * the connection.
 *
 * @throws as `passThrough`
 */
export async function passUpgrade(
  upstream: Upstream,
  target: AbsoluteTarget,
  {
    request,
    response,
    client,
    head,
  }: { request: IncomingMessage; response: ServerResponse; client: Duplex; head: Buffer },
): Promise<Duplex | undefined> {
  const outgoing = beginRequest(
    upstream,
    target,
    request,
    'Connection',
    'Upgrade',
    'Upgrade',
    request.headers.upgrade ?? '',
  );
  const watched = watchAnswer(outgoing);
  const left = () => outgoing.destroy(CLIENT_LEFT);
  client.on('close', left);
  try {
    return await new Promise<Duplex | undefined>((resolve, reject) => {
      passInterimAnswers(outgoing, request, response);
      outgoing.on('timeout', () => outgoing.destroy(new Error('nothing came for too long')));
      outgoing.on('error', reject);
      outgoing.on('close', () => reject(new Error('the connection was closed')));
      outgoing.on('response', (answer) =>
        passAnswer(answer, watched, request, response).then(() => resolve(undefined), reject),
      );
      outgoing.on('upgrade', (answer, remote, remoteHead) => {
        switchOver(answer, response, client);
        remote.setTimeout(0);
        joinSockets(client, head, remote, remoteHead);
        resolve(remote);
      });
      outgoing.end();
    });
  } catch (error) {
    outgoing.destroy();
    throw describeFailure(error, authorityOf(target));
  } finally {
    client.off('close', left);
  }
}

function switchOver(answer: IncomingMessage, response: ServerResponse, client: Duplex): void {
  const { statusCode = 101, statusMessage, httpVersion, rawHeaders, headers } = answer;
  const fields = forwardedFields(rawHeaders, httpVersion, 'content-length', 'trailer');
  response.detachSocket(client as never);
  client.write(
    rawHead(statusCode, statusMessage, ['Connection', 'Upgrade', 'Upgrade', headers.upgrade ?? '', ...fields]),
    'latin1',
  );
}
