/** The way back: interim answers, the answer, its body with its trailers, no faster than the client takes it. */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { STATUS_CODES, validateHeaderValue } from '../../node-support/http.ts';
import type { WatchedAnswer } from '../content/answer-watch.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { forwardedFields, forwardedTrailers } from './header-fields.ts';
import { checkAnswer } from './message-checks.ts';

/** What an answer says before its body, whoever read it. */
export type AnswerHead = Pick<
  IncomingMessage,
  'statusCode' | 'statusMessage' | 'httpVersion' | 'headers' | 'rawHeaders'
>;

/** Answers with a status of 1xx, which HTTP/1.0 does not have; not without end, since each gives the host new time. */
export class InterimAnswers {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #count = 0;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
  }

  /** @throws ReaderError `host-answer` */
  pass({ statusCode = 0, statusMessage, httpVersion, rawHeaders }: Omit<AnswerHead, 'headers'>): void {
    const response = this.#response;
    if (++this.#count > LIMITS.interimAnswers)
      throw new ReaderError('host-answer', 'the host gave nothing but interim answers');
    if (this.#request.httpVersion === '1.0' || response.headersSent) return;
    if (statusCode === 100) response.writeContinue();
    else {
      const fields = forwardedFields(rawHeaders, httpVersion, 'content-length');
      response.socket?.write(rawHead(statusCode, statusMessage, fields), 'latin1');
    }
  }
}

/** Passes them of a request that Node.js's client sends. */
export function passInterimAnswers(outgoing: ClientRequest, request: IncomingMessage, response: ServerResponse): void {
  const interimAnswers = new InterimAnswers(request, response);
  outgoing.on('information', (interim) => {
    try {
      interimAnswers.pass(interim);
    } catch (error) {
      outgoing.destroy(error as Error);
    }
  });
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
 * @param watched - what came of it
 * @returns when all of it has come
 * @throws ReaderError `host-answer`; whatever ended the answer early
 */
export function passAnswer(
  answer: IncomingMessage,
  watched: WatchedAnswer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  return new Promise((resolve, reject) => {
    checkAnswer(answer, answer.headers['transfer-encoding'] === undefined ? undefined : watched.coding);
    writeHead(answer, request, response);
    const more = () => answer.resume();
    response.on('drain', more);
    answer.on('data', (piece: Buffer) => {
      if (!writePiece(piece, response)) answer.pause();
    });
    sendHead(response); // after the listener: what has come of the body already is then written in the same turn
    tellOfReset(answer);
    answer.on('error', (error) => {
      breakOff(answer, response);
      reject(error);
    });
    answer.on('end', () => {
      endAnswer(answer.rawTrailers, response);
      resolve();
    });
  });
}

/** The head goes at once, as Latin-1; `flushHeaders` would write it in UTF-8. What is written in the same turn leaves with it in one call of the system. */
export function sendHead(response: ServerResponse): void {
  response.write('', 'latin1');
}

/** @returns whether the client takes more. What Node.js holds back to the end of the turn, so that it leaves together, leaves now if it was much. */
export function writePiece(piece: Buffer, response: ServerResponse): boolean {
  if (response.write(piece)) return true;
  if (response.writableCorked > 0) response.uncork();
  return response.writableLength === 0;
}

/** @param trailers - names and values alternate */
export function endAnswer(trailers: readonly string[], response: ServerResponse): void {
  if (trailers.length > 0 && response.chunkedEncoding) response.addTrailers(forwardedTrailers(trailers));
  response.end();
}

/**
 * For an answer that broke off: where only the end of the connection is its end for the client, too, that is a reset; otherwise what is missing says
 * it, and the caller ends the connection. One within this process has nothing to reset.
 */
export function breakOff({ headers }: AnswerHead, response: ServerResponse): void {
  const endsByClosing = !response.chunkedEncoding && headers['content-length'] === undefined;
  if (endsByClosing && response.socket instanceof Socket) response.socket.resetAndDestroy();
}

/** Node.js takes a reset connection for the proper end of an answer that ends with it. */
function tellOfReset(answer: IncomingMessage): void {
  const { socket } = answer;
  const failed = (error: Error) => answer.destroy(error);
  socket.on('error', failed);
  answer.once('close', () => socket.off('error', failed));
}

/**
 * Writes the head of an answer that was checked.
 *
 * @throws ReaderError `host-answer`, with nothing written
 */
export function writeHead(answer: AnswerHead, request: IncomingMessage, response: ServerResponse): void {
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

function droppedFields({ statusCode, headers }: AnswerHead, { method, httpVersion }: IncomingMessage): string[] {
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
