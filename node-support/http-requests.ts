/** Heads of requests, as every HTTP listener reads them: RFC 9112 sections 2.3, 3.2, 6.1; RFC 9110 sections 7.2, 10.1.1. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Texts of `Host`: nothing that ends it, and nothing of a URL besides host and port. RFC 9110 section 7.2 */
const HOST = /^[\w.:[\]%~!$&'()*+,;=-]*$/;

/**
 * Finds what is wrong with a request that Node.js's parser (llhttp, strict) accepts, because two programs could read it in two ways. The
 * connection must not be used after the refusal.
 *
 * @returns words for the client; `undefined`: nothing
 */
export function requestFault({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return `HTTP/${httpVersion} is not spoken here`;
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && httpVersion === '1.0') return 'HTTP/1.0 has no Transfer-Encoding';
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return 'no other transfer coding than chunked is known here';
  if (headers.host === undefined && httpVersion === '1.1') return 'there is no Host field';
  if (countOf('host', rawHeaders) > 1) return 'there is more than one Host field';
  return HOST.test(headers.host ?? '') ? undefined : 'the Host field is malformed';
}

/** Answers what no origin takes: {@link requestFault} and {@link meetExpectation}. @returns whether it was answered */
export function refuseFault(request: IncomingMessage, response: ServerResponse): boolean {
  if (requestFault(request) !== undefined) response.writeHead(400, { Connection: 'close' }).end();
  else if (!meetExpectation(request, response)) response.writeHead(417).end();
  else return false;
  return true;
}

/** Reads a request in absolute form as the same one in origin form: there, the URL says the host, whatever `Host` says. RFC 9112 section 3.2.2 */
export function readAbsoluteForm(request: IncomingMessage): void {
  const [, authority, rest = ''] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(request.url ?? '') ?? [];
  if (authority === undefined) return;
  request.headers.host = authority;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
}

/**
 * Has a client that waits for `100 Continue` invited when somebody begins to read its body, so that none is whose request is refused. Node.js ends
 * the connection where it was not.
 *
 * @returns whether nothing else was expected, which is answered 417
 */
export function meetExpectation(request: IncomingMessage, response: ServerResponse): boolean {
  const { expect } = request.headers;
  if (expect === undefined || request.httpVersion === '1.0') return true;
  if (expect.toLowerCase() !== '100-continue') return false;
  const invite = (event: string | symbol) => {
    if (event !== 'data' && event !== 'readable') return;
    request.off('newListener', invite);
    if (!response.headersSent) response.writeContinue();
  };
  request.on('newListener', invite);
  return true;
}

/** Methods that ask for nothing to be changed. RFC 9110 section 9.2.1 */
export const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Methods of requests that may be sent again though they may have arrived. RFC 9110 section 9.2.2 */
export const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/** Tells whether a body comes with a request. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function countOf(wanted: string, fields: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < fields.length; index += 2)
    if (fields[index]?.length === wanted.length && fields[index]?.toLowerCase() === wanted) count++;
  return count;
}
