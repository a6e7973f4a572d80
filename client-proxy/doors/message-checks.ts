/**
 * What Node.js's parser (llhttp, strict) lets through and two programs could read in two ways: refused before anything is done with the
 * message. RFC 9112 sections 2.3, 3.2, 6.1; RFC 9110 section 7.2.
 */
import type { IncomingMessage } from 'node:http';
import { ReaderError } from '../errors.ts';
import { listOf } from './header-fields.ts';

/** What may stand in `Host`: nothing that ends it, and nothing of a URL besides host and port. RFC 9110 section 7.2 */
const HOST = /^[\w.:[\]%~!$&'()*+,;=-]*$/;

/** @throws ReaderError `bad-request`; the connection must not be used after the refusal */
export function checkRequest({ httpVersion, headers, rawHeaders }: IncomingMessage): void {
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    throw new ReaderError('bad-request', `HTTP/${httpVersion} is not spoken here`);
  const coding = headers['transfer-encoding'];
  if (coding !== undefined) {
    if (httpVersion === '1.0') throw new ReaderError('bad-request', 'HTTP/1.0 has no Transfer-Encoding');
    if (coding.toLowerCase() !== 'chunked')
      throw new ReaderError('bad-request', 'no other transfer coding than chunked is known here');
  }
  if (headers.host === undefined && httpVersion === '1.1')
    throw new ReaderError('bad-request', 'there is no Host field');
  if (countOf('host', rawHeaders) > 1) throw new ReaderError('bad-request', 'there is more than one Host field');
  if (!HOST.test(headers.host ?? '')) throw new ReaderError('bad-request', 'the Host field is malformed');
}

/**
 * Refuses an answer whose length could be read in two ways. A tab behind `chunked` is a part of the coding for the parser, and left out by
 * Node.js: it shows in that such an answer keeps no connection, though it does not say so.
 *
 * @param keepsConnection - whether the parser found that the connection may be used again
 * @throws ReaderError `host-answer`
 */
export function checkAnswer({ httpVersion, statusCode = 0, headers }: IncomingMessage, keepsConnection: boolean): void {
  // 101 without what belongs to it comes here: as an answer it would turn the client's connection into a tunnel.
  if (statusCode < 200) throw new ReaderError('host-answer', 'the host switched to another protocol unasked');
  const coding = headers['transfer-encoding'];
  const isChunked =
    coding?.toLowerCase() === 'chunked' && (keepsConnection || listOf(headers.connection).includes('close'));
  const isSound = coding === undefined ? /^1\.[01]$/.test(httpVersion) : httpVersion === '1.1' && isChunked;
  if (!isSound) throw new ReaderError('host-answer', 'the host gave an answer of uncertain length');
}

/** Whether a body comes with a request. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function countOf(wanted: string, fields: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < fields.length; index += 2)
    if (fields[index]?.length === wanted.length && fields[index]?.toLowerCase() === wanted) count++;
  return count;
}
