/**
 * Answers key requests before Express, which takes as long for one as all of its cryptography. Whatever is not plainly a key request, or is
 * above a limit, Express answers: it has the same route.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { KEY_REQUEST_PATH } from '../../core/keys/key-request.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { clientAddress, clientsBehind, trustedProxies } from '../../node-support/client-address.ts';
import { load } from '../../node-support/load.ts';
import { onceClosed } from '../../node-support/once-closed.ts';
import { type AppOptions, noteAnswer, securityHeaders } from '../http/app.ts';
import type { CountStore } from '../http/count-store.ts';
import { answerKeyRequest } from '../readers/key-requests.ts';
import type { KeyServerState } from '../storage/state.ts';
import { outcomeOf } from './refusals.ts';

/** Fields that ask for more than an answer. */
const UNUSUAL = ['content-encoding', 'expect', 'sec-fetch-site', 'transfer-encoding'];

/** @param counts - of the requests of one address, and of its key requests @param otherwise - answers all else */
export function keyRequestsFirst(
  options: AppOptions & { readonly state: KeyServerState },
  counts: readonly (readonly [CountStore, limit: number])[],
  otherwise: RequestListener,
): RequestListener {
  const { state, origin, limits, log, isTrustedProxy } = options;
  const { host } = new URL(origin);
  const isShared = trustedProxies(limits.sharedNetworks);
  const common = [...securityHeaders(options), ['Cache-Control', 'no-store'] as const].flat();
  const isOver = async (request: IncomingMessage) => {
    const address = clientAddress(request, isTrustedProxy);
    const clients = clientsBehind(request, isTrustedProxy, isShared);
    for (const [count, limit] of counts) {
      if ((await count.increment(address)).hits > limit * clients) return true;
    }
    return false;
  };
  const send = (response: ServerResponse, status: number, type: string, bytes: Uint8Array) => {
    response.writeHead(status, [...common, 'Content-Type', type, 'Content-Length', String(bytes.length)]);
    response.end(bytes);
  };
  const refuse = (response: ServerResponse, status: number, code: string) =>
    send(response, status, 'application/json; charset=utf-8', Buffer.from(JSON.stringify({ error: code })));
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (await isOver(request)) return otherwise(request, response);
    const start = performance.now();
    onceClosed(response, () => noteAnswer(options, { request, response, start, route: KEY_REQUEST_PATH }));
    const body = await bodyOf(request);
    const taken = load.begin();
    if (!taken) {
      response.setHeader('Retry-After', Math.ceil(load.pause()));
      return refuse(response, 503, 'busy');
    }
    onceClosed(response, taken.end);
    try {
      const content = await answerKeyRequest(state, origin, body);
      send(response, 200, 'application/octet-stream', content);
    } catch (error) {
      const { status, code } = outcomeOf(error, log);
      refuse(response, status, code);
    }
  };
  return (request, response) => {
    if (isPlain(request, host)) void answer(request, response);
    else otherwise(request, response);
  };
}

function isPlain({ method, url, headers }: IncomingMessage, host: string): boolean {
  return (
    method === 'POST' &&
    url === KEY_REQUEST_PATH &&
    headers.host === host &&
    Number(headers['content-length']) <= MESSAGE_LIMITS.keyRequest &&
    UNUSUAL.every((name) => headers[name] === undefined)
  );
}

/** Reads a body as long as its head says: longer ones are not taken. @returns never, where the client leaves */
function bodyOf(request: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.once('end', () => resolve(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)));
  });
}
