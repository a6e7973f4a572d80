/** Requests about the way itself that end here: `OPTIONS *`, and TRACE or OPTIONS with no forwards left. RFC 9110 sections 7.6.2, 9.3.7, 9.3.8. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { VIA } from '../answer-fields.ts';

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE, CONNECT';

/** Fields that say who the client is; an answer to TRACE leaves them out. */
const SECRET = new Set(['authorization', 'cookie', 'proxy-authorization']);

/** How many more hops a TRACE or OPTIONS request may take; `undefined` where it does not say. */
export function forwardsLeft({ method, headers }: IncomingMessage): number | undefined {
  const value = headers['max-forwards'];
  const counts = (method === 'TRACE' || method === 'OPTIONS') && typeof value === 'string' && /^\d{1,9}$/.test(value);
  return counts ? Number(value) : undefined;
}

/** Answers as the last recipient: what this program can do, or what arrived here. */
export function answerAsLast(request: IncomingMessage, response: ServerResponse): void {
  if (request.method === 'OPTIONS') {
    response.writeHead(200, { allow: METHODS, 'content-length': '0', via: VIA }).end();
    return;
  }
  const seen = Buffer.from(arrived(request), 'latin1');
  response
    .writeHead(200, {
      'content-type': 'message/http',
      'content-length': seen.length,
      'cache-control': 'no-store',
      via: VIA,
    })
    .end(seen);
}

function arrived({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    if (!SECRET.has(rawHeaders[index]?.toLowerCase() ?? ''))
      lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}
