/**
 * Header fields of messages that pass through, as Node.js gives them: a flat list, names and values alternating, one character a byte, so that
 * order, case, repetition and every byte stay as they were (RFC 9110 section 7.6). And what is refused because two programs could read it in two ways.
 */
import type { IncomingMessage } from 'node:http';
import { endToEndFields, HOP_BY_HOP, listOf } from '../../node-support/end-to-end-fields.ts';
import { requestFault } from '../../node-support/http-requests.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { VIA_NAME } from '../network/answer-fields.ts';

/** Fields that say how long a message is, or where it goes, and so mean nothing behind it. RFC 9110 section 6.5.1 */
const NOT_IN_TRAILERS = new Set([...HOP_BY_HOP, 'content-length', 'host', 'trailer', 'via']);

/** The fields for the next hop. @param version - of HTTP, as it came @param dropped - further names, in lower case */
export function forwardedFields(fields: readonly string[], version: string, dropped: readonly string[]): string[] {
  return [...endToEndFields(fields, dropped), 'Via', `${version} ${VIA_NAME}`];
}

/** The trailer fields that go on, in pairs. */
export function forwardedTrailers(fields: readonly string[]): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [name = '', value = ''] = [fields[index], fields[index + 1]];
    if (!NOT_IN_TRAILERS.has(name.toLowerCase())) pairs.push([name, value]);
  }
  return pairs;
}

/** Tells whether a message has been here more often than any sound chain of proxies needs. */
export function isLooping(via: string | undefined): boolean {
  return via !== undefined && via.split(` ${VIA_NAME}`).length > LIMITS.passages;
}

/** @throws ReaderError `bad-request`; the connection must not be used after the refusal */
export function checkRequest(request: IncomingMessage): void {
  const fault = requestFault(request);
  if (fault !== undefined) throw new ReaderError('bad-request', fault);
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
