/** The way back: interim answers, the answer, its body with its trailers, no faster than the client takes it. */
import type { ClientRequest, IncomingMessage, InformationEvent, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { STATUS_CODES, validateHeaderValue } from '../../node-support/http.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { forwardedFields, forwardedTrailers } from './header-fields.ts';
import { checkAnswer } from './message-checks.ts';

/** Passes answers with a status of 1xx, which HTTP/1.0 does not have; not without end, since each gives the host new time. */
export function passInterimAnswers(outgoing: ClientRequest, request: IncomingMessage, response: ServerResponse): void {
  let count = 0;
  outgoing.on('information', (interim: InformationEvent) => {
    if (++count > LIMITS.interimAnswers)
      outgoing.destroy(new ReaderError('host-answer', `${outgoing.host} gave nothing but interim answers`));
    else if (request.httpVersion !== '1.0' && !response.headersSent) {
      if (interim.statusCode === 100) response.writeContinue();
      else response.socket?.write(headOf(interim), 'latin1');
    }
  });
}

function headOf({ statusCode, statusMessage, httpVersion, rawHeaders }: InformationEvent): string {
  return rawHead(statusCode, statusMessage, forwardedFields(rawHeaders, httpVersion, 'content-length'));
}

/** The head of an answer in bytes, for where Node.js has no object for it: of a status text that nobody may write, the common one takes the place. */
export function rawHead(status: number, reason: string | undefined, fields: readonly string[]): string {
  const shown = reason !== undefined && isReason(reason) ? reason : (STATUS_CODES[status] ?? '');
  let head = `HTTP/1.1 ${status} ${shown}\r\n`;
  for (let index = 0; index + 1 < fields.length; index += 2) head += `${fields[index]}: ${fields[index + 1]}\r\n`;
  return `${head}\r\n`;
}

/**
 * An answer that breaks off never seems whole: where only the end of the connection is its end, that is a reset.
 *
 * @returns when all of it has come
 * @throws ReaderError `host-answer`; whatever ended the answer early
 */
export function passAnswer(answer: IncomingMessage, request: IncomingMessage, response: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    checkAnswer(answer);
    writeHead(answer, request, response);
    const more = () => answer.resume();
    response.on('drain', more);
    answer.on('data', (piece: Buffer) => {
      if (!response.write(piece) && isWaiting(response)) answer.pause();
    });
    // The head goes at once, as Latin-1; `flushHeaders` would write it in UTF-8. After the listener: what has come of the body already is
    // then written in the same turn, and leaves with the head in one call of the system.
    response.write('', 'latin1');
    tellOfReset(answer);
    const endsByClosing = !response.chunkedEncoding && answer.headers['content-length'] === undefined;
    answer.on('error', (error) => {
      if (endsByClosing) reset(response);
      reject(error);
    });
    answer.on('end', () => {
      if (answer.rawTrailers.length > 0 && response.chunkedEncoding)
        response.addTrailers(forwardedTrailers(answer.rawTrailers));
      response.end();
      resolve();
    });
  });
}

/** Whether more was written than the client takes. What Node.js holds back to the end of the turn, so that it leaves together, leaves now. */
function isWaiting(response: ServerResponse): boolean {
  if (response.writableCorked > 0) response.uncork();
  return response.writableLength > 0;
}

/** Node.js takes a reset connection for the proper end of an answer that ends with it. */
function tellOfReset(answer: IncomingMessage): void {
  const { socket } = answer;
  const failed = (error: Error) => answer.destroy(error);
  socket.on('error', failed);
  answer.once('close', () => socket.off('error', failed));
}

/** A connection within this process has nothing to reset; what is left of it is destroyed by the caller. */
function reset({ socket }: ServerResponse): void {
  if (socket instanceof Socket) socket.resetAndDestroy();
}

function writeHead(answer: IncomingMessage, request: IncomingMessage, response: ServerResponse): void {
  const { statusCode = 0, statusMessage = '', httpVersion, headers, rawHeaders } = answer;
  const fields = forwardedFields(rawHeaders, httpVersion, ...droppedFields(answer, request));
  if (statusCode === 426 && headers.upgrade !== undefined)
    fields.push('Upgrade', headers.upgrade, 'Connection', 'Upgrade');
  checkReason(statusMessage);
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
  // No body comes with it, whatever it says of one: what a client believes of its length could differ from what the next one does.
  if (statusCode === 204) dropped.push('content-length');
  return dropped;
}

/** Looked at before any of it is sent, so that a page can come in its place. */
function checkReason(reason: string): void {
  if (!isReason(reason))
    throw new ReaderError('host-answer', 'the status text has characters that HTTP has no place for');
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
