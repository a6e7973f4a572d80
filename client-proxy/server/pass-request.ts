/** The way there: the head of a request that passes through, and its body with its trailers, no faster than the host takes it. */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { listOf } from '../../node-support/end-to-end-fields.ts';
import { hasBody } from '../../node-support/http-requests.ts';
import { ReaderError } from '../errors.ts';
import { VIA } from '../network/answer-fields.ts';
import type { AbsoluteTarget } from '../network/request-target.ts';
import type { Upstream } from '../network/upstream.ts';
import { forwardedFields, forwardedTrailers } from './messages.ts';

/** Port to which no browser speaks HTTP. */
const SMTP_PORT = 25;

/** HTTP/2 in clear by way of an upgrade no longer exists (RFC 9113 section 3.1), and would be a way around whatever inspects requests. */
const NEVER_PASSED = 'h2c';

/** Methods that say by themselves that no body comes; with the others, its absence is said. RFC 9110 section 8.6 */
const USUALLY_WITHOUT_BODY = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']);

/** Begins a request, without its body. @param added - names and values alternate @throws ReaderError `port-refused` */
export function beginRequest(
  upstream: Upstream,
  target: AbsoluteTarget,
  request: IncomingMessage,
  added: readonly string[],
  mayReuse: boolean,
): ClientRequest {
  if (target.port === SMTP_PORT) throw new ReaderError('port-refused', `port ${target.port} is not for HTTP`);
  const fields = [...requestFields(request), ...framing(request), ...added];
  return upstream.pass(target, request.method ?? 'GET', fields, mayReuse);
}

/** The fields that go on, but for what says how long the body is. Names and values alternate. */
export function requestFields(request: IncomingMessage): string[] {
  const { httpVersion, headers, rawHeaders } = request;
  const forwards = forwardsLeft(request);
  const dropped = ['host'];
  if (headers['transfer-encoding'] === undefined) dropped.push('trailer');
  if (headers.expect !== undefined && !passesExpectation(request)) dropped.push('expect');
  if (forwards !== undefined) dropped.push('max-forwards');
  const fields = forwardedFields(rawHeaders, httpVersion, dropped);
  return forwards === undefined ? fields : [...fields, 'Max-Forwards', String(forwards - 1)];
}

/**
 * Tells whether the host is asked to say when it wants the body. Not by HTTP/1.0, which has no such word; and not where a field has bytes beyond
 * ASCII, since Node.js sends the heads of such requests in UTF-8: then this program asks for the body itself, as it may.
 */
export function passesExpectation({ httpVersion, headers, rawHeaders }: IncomingMessage): boolean {
  return (
    headers.expect !== undefined && httpVersion !== '1.0' && !rawHeaders.some((part) => /[^\x20-\x7e\t]/.test(part))
  );
}

/** Tells whether a request asks for another protocol that could be passed on (RFC 9110 section 7.8); if not, it goes on without its `Upgrade`. */
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

function framing({ method = 'GET', headers }: IncomingMessage): readonly string[] {
  const { te, 'transfer-encoding': coding, 'content-length': length } = headers;
  // Trailers are passed back, so they may be asked for (RFC 9110 section 10.1.4).
  const trailers = listOf(String(te ?? '')).includes('trailers') ? ['TE', 'trailers', 'Connection', 'TE'] : [];
  if (coding !== undefined) return ['Transfer-Encoding', 'chunked', ...trailers];
  return length === undefined && !USUALLY_WITHOUT_BODY.has(method) ? ['Content-Length', '0', ...trailers] : trailers;
}

/** Streams the body. A request that breaks off is never ended cleanly: the caller destroys it. */
export function passBody(request: IncomingMessage, outgoing: ClientRequest): void {
  if (!hasBody(request)) {
    outgoing.end();
    return;
  }
  const more = () => request.resume();
  outgoing.write('', 'latin1'); // the head goes at once, as Latin-1; `flushHeaders` would write it in UTF-8
  outgoing.on('drain', more);
  outgoing.on('close', more); // the unwanted rest is dropped, up to a bound: connections.ts
  request.on('data', (piece: Buffer) => {
    if (!outgoing.destroyed && !outgoing.write(piece)) request.pause();
  });
  request.on('end', () => {
    if (outgoing.destroyed) return;
    if (request.rawTrailers.length > 0) outgoing.addTrailers(forwardedTrailers(request.rawTrailers));
    outgoing.end();
  });
}

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE, CONNECT';

/** Fields that say who the client is; an answer to TRACE leaves them out. */
const SECRET = new Set(['authorization', 'cookie', 'proxy-authorization']);

/** Returns how many more hops a TRACE or OPTIONS request may take; `undefined` where it does not say. */
export function forwardsLeft({ method, headers }: IncomingMessage): number | undefined {
  const value = headers['max-forwards'];
  const counts = (method === 'TRACE' || method === 'OPTIONS') && typeof value === 'string' && /^\d{1,9}$/.test(value);
  return counts ? Number(value) : undefined;
}

/** Answers `OPTIONS *`, and TRACE or OPTIONS with no forwards left: what this program can do, or what arrived here. RFC 9110 sections 7.6.2, 9.3.7, 9.3.8 */
export function answerAsLast(request: IncomingMessage, response: ServerResponse): void {
  if (request.method === 'OPTIONS') {
    response.writeHead(200, { allow: METHODS, 'content-length': '0', via: VIA }).end();
    return;
  }
  const seen = Buffer.from(arrived(request), 'latin1');
  const fields = { 'content-type': 'message/http', 'cache-control': 'no-store', via: VIA };
  response.writeHead(200, { ...fields, 'content-length': seen.length }).end(seen);
}

function arrived({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    if (!SECRET.has(rawHeaders[index]?.toLowerCase() ?? ''))
      lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}
