/** The way back: interim answers, the answer, its body with its trailers, no faster than the client takes it. */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { STATUS_CODES, validateHeaderValue } from '../../node-support/http.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { checkAnswer, forwardedFields, forwardedTrailers } from './messages.ts';

/** Passes on answers with a status of 1xx, which HTTP/1.0 does not have; a bounded number of them, since each gives the host new time. */
export function passInterimAnswers(outgoing: ClientRequest, request: IncomingMessage, response: ServerResponse): void {
  let count = 0;
  outgoing.on('information', ({ statusCode, statusMessage, httpVersion, rawHeaders }) => {
    if (++count > LIMITS.interimAnswers)
      outgoing.destroy(new ReaderError('host-answer', 'the host gave nothing but interim answers'));
    else if (request.httpVersion === '1.0' || response.headersSent) return;
    else if (statusCode === 100) response.writeContinue();
    else {
      const fields = forwardedFields(rawHeaders, httpVersion, ['content-length']);
      response.socket?.write(rawHead(statusCode, statusMessage, fields), 'latin1');
    }
  });
}

/** Reports to the client that the host has switched to another protocol, and detaches `response` from the connection. */
export function writeSwitch(answer: IncomingMessage, response: ServerResponse, client: Duplex): void {
  const { statusCode = 101, statusMessage, httpVersion, rawHeaders, headers } = answer;
  const fields = forwardedFields(rawHeaders, httpVersion, ['content-length', 'trailer']);
  response.detachSocket(client as never);
  const switched = ['Connection', 'Upgrade', 'Upgrade', headers.upgrade ?? '', ...fields];
  client.write(rawHead(statusCode, statusMessage, switched), 'latin1');
}

/** The head of an answer in bytes, where Node.js has no object for it; with the usual status text where the given one may not be written. */
function rawHead(status: number, reason: string | undefined, fields: readonly string[]): string {
  const shown = reason !== undefined && isReason(reason) ? reason : (STATUS_CODES[status] ?? '');
  let head = `HTTP/1.1 ${status} ${shown}\r\n`;
  for (let index = 0; index + 1 < fields.length; index += 2) head += `${fields[index]}: ${fields[index + 1]}\r\n`;
  return `${head}\r\n`;
}

/**
 * Passes the answer back, no faster than the client takes it. One that breaks off never seems whole: where only the end of the connection would
 * end it for the client, the connection is reset.
 *
 * @returns when all of it has come
 * @throws ReaderError `host-answer`; whatever ended the answer early
 */
export function passAnswer(
  answer: IncomingMessage,
  outgoing: ClientRequest,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<undefined> {
  return new Promise((resolve, reject) => {
    checkAnswer(answer, outgoing.shouldKeepAlive);
    writeHead(answer, request, response);
    const more = () => answer.resume();
    response.on('drain', more);
    answer.on('data', (piece: Buffer) => {
      if (!writePiece(piece, response)) answer.pause();
    });
    response.write('', 'latin1'); // the head, which `flushHeaders` would write in UTF-8; what is written in the same turn leaves with it
    failAtBrokenEnd(answer);
    answer.on('error', (error) => {
      const endsByClosing = !response.chunkedEncoding && answer.headers['content-length'] === undefined;
      if (endsByClosing && response.socket instanceof Socket) response.socket.resetAndDestroy();
      reject(error);
    });
    answer.on('end', () => {
      if (answer.rawTrailers.length > 0 && response.chunkedEncoding)
        response.addTrailers(forwardedTrailers(answer.rawTrailers));
      response.end();
      resolve(undefined);
    });
  });
}

/** @returns whether the client takes more. What Node.js holds back to the end of the turn, to write it at once, is written now if it is much. */
function writePiece(piece: Buffer, response: ServerResponse): boolean {
  if (response.write(piece)) return true;
  if (response.writableCorked > 0) response.uncork();
  return response.writableLength === 0;
}

/**
 * Node.js takes the reset of a connection for the proper end of an answer that ends with it. And chunks after a coding that its parser does not
 * know end with the connection only: {@link checkAnswer}.
 */
function failAtBrokenEnd(answer: IncomingMessage): void {
  const { socket } = answer;
  const failed = (error: Error) => answer.destroy(error);
  const ended = () => {
    const isWhole = answer.complete || answer.headers['transfer-encoding'] === undefined;
    if (!isWhole) failed(new Error('the connection ended before the last chunk'));
  };
  socket.on('error', failed).prependListener('end', ended);
  answer.once('close', () => socket.off('error', failed).off('end', ended));
}

/** Writes the head of an answer that was checked. @throws ReaderError `host-answer`, with nothing written */
function writeHead(answer: IncomingMessage, request: IncomingMessage, response: ServerResponse): void {
  const { statusCode = 0, statusMessage = '', httpVersion, headers, rawHeaders } = answer;
  const fields = forwardedFields(rawHeaders, httpVersion, droppedFields(answer, request));
  if (statusCode === 426 && headers.upgrade !== undefined)
    fields.push('Upgrade', headers.upgrade, 'Connection', 'Upgrade');
  // Looked at before any of it is sent, so that a page can come in its place.
  if (!isReason(statusMessage))
    throw new ReaderError('host-answer', 'the status text has characters that HTTP has no place for');
  response.sendDate = false;
  try {
    response.writeHead(statusCode, statusMessage, fields);
  } catch (error) {
    // The response keeps what it thought of the body by then: a page in place of the answer could have a length and no content.
    response.destroy();
    throw error;
  }
}

function droppedFields({ statusCode, headers }: IncomingMessage, { method, httpVersion }: IncomingMessage): string[] {
  const isBodiless = method === 'HEAD' || statusCode === 204 || statusCode === 304;
  const isChunked = headers['transfer-encoding'] !== undefined && httpVersion !== '1.0' && !isBodiless;
  // Node.js refuses to announce trailers where no chunks come that they could follow.
  const dropped = isChunked ? [] : ['trailer'];
  // A 204 has no body, whatever it says of one: what a client believes of its length could differ from what the next one does.
  if (statusCode === 204) dropped.push('content-length');
  return dropped;
}

/** llhttp lets more through than Node.js writes. */
function isReason(text: string): boolean {
  try {
    validateHeaderValue('reason', text);
    return true;
  } catch {
    return false;
  }
}
