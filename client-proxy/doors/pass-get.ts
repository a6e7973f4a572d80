/** The most frequent requests that pass through, those that only ask for something, by undici: head, body and end as with Node.js's client. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { STATUS_CODES } from '../../node-support/http.ts';
import { innermost, systemCode } from '../../node-support/system-error.ts';
import type { AnswerWatch, StatusLine, WatchedConnection } from '../content/answer-watch.ts';
import { isBrokenOff, isUnaskedAnswer } from '../content/broken-answer.ts';
import { PaddedLength } from '../content/padded-length.ts';
import type { Upstream } from '../content/upstream.ts';
import { trimmed } from '../content/white-space.ts';
import { CLIENT_LEFT } from './client-left.ts';
import { checkAnswer } from './message-checks.ts';
import {
  type AnswerHead,
  breakOff,
  endAnswer,
  InterimAnswers,
  sendHead,
  writeHead,
  writePiece,
} from './pass-answer.ts';
import { passingHead } from './pass-request.ts';
import type { AbsoluteTarget } from './request-target.ts';

type Controller = Dispatcher.DispatchController;

/**
 * @param answered - told of the head of the answer
 * @returns whether it was answered; if not, nothing but interim answers was written, and the request may be sent by Node.js's client
 * @throws ReaderError `port-refused`, `host-answer`; whatever ended the answer early
 */
export function passGet(
  upstream: Pick<Upstream, 'answers' | 'passGet'>,
  target: AbsoluteTarget,
  request: IncomingMessage,
  response: ServerResponse,
  answered: (answer: AnswerHead) => void,
): Promise<boolean> {
  const head = passingHead(target, request);
  return new Promise<boolean>((resolve, reject) => {
    const passing = new PassingAnswer(upstream.answers, { request, response, answered, resolve, reject });
    try {
      upstream.passGet(head, passing);
    } catch (error) {
      passing.fail(error as Error);
    }
  });
}

interface Passing {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly answered: (answer: AnswerHead) => void;
  readonly resolve: (isAnswered: boolean) => void;
  readonly reject: (error: Error) => void;
}

class PassingAnswer implements Dispatcher.DispatchHandler {
  readonly #watch: AnswerWatch;
  readonly #passing: Passing;
  readonly #interimAnswers: InterimAnswers;
  #controller: Controller | undefined;
  #connection: WatchedConnection | undefined;
  #answer: AnswerHead | undefined;
  #padded: PaddedLength | undefined;

  constructor(watch: AnswerWatch, passing: Passing) {
    this.#watch = watch;
    this.#passing = passing;
    this.#interimAnswers = new InterimAnswers(passing.request, passing.response);
    passing.response.on('close', this.#left);
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#passing.response.destroyed) controller.abort(CLIENT_LEFT);
  }

  /** What it throws ends the request. */
  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    const connection = this.#watch.current;
    const answer = headOf(connection?.takeLine(), status, headers, fieldsOf(controller.rawHeaders));
    if (status > 101 && status < 200) {
      this.#interimAnswers.pass(answer);
      return;
    }
    const { request, response, answered } = this.#passing;
    checkAnswer(answer, answer.headers['transfer-encoding']);
    writeHead(answer, request, response);
    this.#connection = connection;
    this.#answer = answer;
    this.#padded = PaddedLength.of(headers['content-length']);
    answered(answer);
    response.on('drain', () => controller.resume());
    sendHead(response);
  }

  onResponseData(controller: Controller, piece: Buffer): void {
    this.#padded?.take(piece);
    if (!writePiece(piece, this.#passing.response)) controller.pause();
  }

  onResponseEnd(controller: Controller): void {
    // A reset, too, ends an answer whose end is that of the connection, for undici.
    if (this.#connection?.wasReset) this.fail(new Error('the connection was reset'));
    else {
      this.#connection?.answered();
      this.#end(fieldsOf(controller.rawTrailers));
    }
  }

  onResponseError(_controller: Controller, error: Error): void {
    if (this.#padded?.isWhole) this.#end([]);
    else this.fail(error);
  }

  fail(error: Error): void {
    const { response, resolve, reject } = this.#passing;
    response.off('close', this.#left);
    if (this.#answer) breakOff(this.#answer, response);
    if (!this.#answer && !response.destroyed && isForAnotherClient(error, this.#watch.current)) resolve(false);
    else reject(error);
  }

  #end(trailers: readonly string[]): void {
    const { response, resolve } = this.#passing;
    response.off('close', this.#left);
    endAnswer(trailers, response);
    resolve(true);
  }

  /** Before a connection is there, the request is dropped when it begins. */
  readonly #left = (): void => this.#controller?.abort(CLIENT_LEFT);
}

/**
 * Whether Node.js's client may do better: a kept connection was broken off just when it was used again; what came was a sound 100, which undici takes
 * only where it has asked for it; or undici does not send such a request. Otherwise the host has had its say: nothing is sent twice.
 */
function isForAnotherClient(error: Error, connection: WatchedConnection | undefined): boolean {
  const met = innermost(error); // beneath the name of whose it is
  if (systemCode(met) === 'UND_ERR_INVALID_ARG') return true;
  if (isBrokenOff(met)) return connection?.isKept === true;
  return isUnaskedAnswer(met) && connection?.line?.status === 100;
}

/** The parser takes `chunked` with a tab behind it for another coding, and chunks for what they carry: then it stays, and is refused. */
const BLANKS: Readonly<Record<string, string>> = { 'transfer-encoding': ' ' };

/** As Node.js's client has it. A first line that is not that of this answer says nothing of it: then it has no version, and is refused. */
function headOf(
  line: StatusLine | undefined,
  status: number,
  headers: IncomingHttpHeaders,
  rawHeaders: string[],
): AnswerHead {
  const own = line?.status === status ? line : { reason: STATUS_CODES[status] ?? '', version: '' };
  const joined: IncomingHttpHeaders = {};
  for (const name of ['content-type', 'content-length', 'transfer-encoding', 'upgrade'] as const) {
    const value: string | string[] | undefined = headers[name];
    if (value !== undefined) joined[name] = trimmed(Array.isArray(value) ? value.join(', ') : value, BLANKS[name]);
  }
  return { statusCode: status, statusMessage: own.reason, httpVersion: own.version, headers: joined, rawHeaders };
}

/** undici gives header fields in bytes, names and values alternating. */
function fieldsOf(fields: Controller['rawHeaders']): string[] {
  if (!Array.isArray(fields)) return [];
  return fields.map((part) => trimmed(typeof part === 'string' ? part : part.toString('latin1')));
}
