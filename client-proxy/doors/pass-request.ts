/** The way there: the head of a request that passes through, and its body with its trailers, no faster than the host takes it. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { PassingHead, Upstream } from '../content/upstream.ts';
import { ReaderError } from '../errors.ts';
import { forwardedFields, forwardedTrailers, listOf } from './header-fields.ts';
import { forwardsLeft } from './last-recipient.ts';
import { hasBody } from './message-checks.ts';
import { type AbsoluteTarget, authorityOf } from './request-target.ts';

/** Ports that no browser speaks HTTP to. */
const REFUSED_PORTS = new Set([25]);

/** Methods that say by themselves that no body comes; with the others, its absence is said. RFC 9110 section 8.6 */
const USUALLY_WITHOUT_BODY = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']);

/** @throws ReaderError `port-refused` */
export function beginRequest(
  upstream: Upstream,
  target: AbsoluteTarget,
  request: IncomingMessage,
  ...added: readonly string[]
): ClientRequest {
  const { headers, ...head } = passingHead(target, request);
  const { method = 'GET' } = request;
  return upstream.pass({ ...head, method, headers: [...headers, ...framing(request), ...added] });
}

/**
 * What goes on of a request's head, without what says how long its body is.
 *
 * @throws ReaderError `port-refused`
 */
export function passingHead(target: AbsoluteTarget, request: IncomingMessage): PassingHead {
  const { host, port, path } = target;
  if (REFUSED_PORTS.has(port)) throw new ReaderError('port-refused', `port ${port} is not for HTTP`);
  const { httpVersion, rawHeaders } = request;
  const forwards = forwardsLeft(request);
  const dropped = ['host', ...droppedFields(request), ...(forwards === undefined ? [] : ['max-forwards'])];
  const headers = forwardedFields(rawHeaders, httpVersion, ...dropped);
  if (forwards !== undefined) headers.push('Max-Forwards', String(forwards - 1));
  return { host, port, authority: authorityOf(target), path, headers };
}

/** Whether a request is a GET without a body that asks for nothing that undici has no word for. */
export function isPlainGet(request: IncomingMessage): boolean {
  const { expect, te } = request.headers;
  return request.method === 'GET' && expect === undefined && te === undefined && !hasBody(request);
}

/**
 * Whether the host is asked to say when it wants the body. Not by HTTP/1.0, which has no such word; and not where a field has bytes beyond
 * ASCII, since Node.js sends the heads of such requests in UTF-8: then this program asks for the body itself, as it may.
 */
export function passesExpectation({ httpVersion, headers, rawHeaders }: IncomingMessage): boolean {
  return (
    headers.expect !== undefined && httpVersion !== '1.0' && !rawHeaders.some((part) => /[^\x20-\x7e\t]/.test(part))
  );
}

function droppedFields(request: IncomingMessage): readonly string[] {
  const { headers } = request;
  const dropped: string[] = [];
  if (headers['transfer-encoding'] === undefined) dropped.push('trailer');
  if (headers.expect !== undefined && !passesExpectation(request)) dropped.push('expect');
  return dropped;
}

function framing({ method = 'GET', headers }: IncomingMessage): readonly string[] {
  const { te, 'transfer-encoding': coding, 'content-length': length } = headers;
  // Trailers are passed back, so a host may be told that they are welcome (RFC 9110 section 10.1.4).
  const trailers = listOf(String(te ?? '')).includes('trailers') ? ['TE', 'trailers', 'Connection', 'TE'] : [];
  if (coding !== undefined) return ['Transfer-Encoding', 'chunked', ...trailers];
  return length === undefined && !USUALLY_WITHOUT_BODY.has(method) ? ['Content-Length', '0', ...trailers] : trailers;
}

/** Sends what comes, as it comes. A request that breaks off is never ended cleanly: whoever began it destroys it. */
export function passBody(request: IncomingMessage, outgoing: ClientRequest): void {
  if (!hasBody(request)) {
    outgoing.end();
    return;
  }
  const more = () => request.resume();
  outgoing.write('', 'latin1'); // the head goes at once, as Latin-1; `flushHeaders` would write it in UTF-8
  outgoing.on('drain', more);
  outgoing.on('close', more); // what nobody takes any more is dropped, up to a bound: doors/connections.ts
  request.on('data', (piece: Buffer) => {
    if (!outgoing.destroyed && !outgoing.write(piece)) request.pause();
  });
  request.on('end', () => {
    if (outgoing.destroyed) return;
    if (request.rawTrailers.length > 0) outgoing.addTrailers(forwardedTrailers(request.rawTrailers));
    outgoing.end();
  });
}
