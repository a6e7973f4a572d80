/**
 * What undici reads off its connections and does not tell: by which version of HTTP an answer came, on which it depends what may be believed of its
 * length, its status text byte for byte, and whether it ended with a reset, which undici takes for the proper end of an answer without a length.
 * And what Node.js's client does not tell: whether an answer had begun, and what its parser made of a transfer coding.
 */
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { LIMITS } from '../limits.ts';
import { trimmed } from './white-space.ts';

const [CR, LF] = [13, 10];
/** Ends the fields of an answer. */
const EMPTY_LINE = Buffer.from('\r\n\r\n');

/** The first line of an answer, interim or final. */
export interface StatusLine {
  /** Of HTTP, such as `1.1`. */
  readonly version: string;
  readonly status: number;
  /** One character a byte. */
  readonly reason: string;
}

/** A connection whose answers are asked for one after another. */
export class WatchedConnection {
  /** Read, and not asked for yet: of one read at most, since undici gives away the heads of all answers in it at once. */
  #lines: StatusLine[] = [];
  /** What comes next: a first line, the fields of an interim answer, or what follows the first line of one that counts. */
  #next: 'line' | 'fields' | 'rest' = 'line';
  /** What has come of the first line. */
  #begun = '';
  /** How many bytes of an empty line have come behind the fields of an interim answer, the end of the line before it included. */
  #ofEmptyLine = 0;
  #isKept = false;
  /** Whether the other side broke it off. */
  wasReset = false;

  /** Whether it has given an answer, and nothing came since: its other side may have been closing it just when it was used again. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** The first line that {@link takeLine} gives next. */
  get line(): StatusLine | undefined {
    return this.#lines[0];
  }

  /** Of the answer whose head undici gives away; `undefined` where it did not begin with such a line. */
  takeLine(): StatusLine | undefined {
    return this.#lines.shift();
  }

  /** An answer is all there: what comes next is the first line of another. */
  answered(): void {
    this.#lines = [];
    this.#next = 'line';
    this.#begun = '';
    this.#isKept = true;
  }

  /** @returns where what follows the first line of an answer that counts begins in them */
  read(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && this.#next !== 'rest')
      at = this.#next === 'line' ? this.#readLine(bytes, at) : this.#skipFields(bytes, at);
    return at;
  }

  /** @returns where it ends */
  #readLine(bytes: Buffer, from: number): number {
    let start = from;
    // The parser passes over empty lines before an answer.
    if (this.#begun === '') while (bytes[start] === CR || bytes[start] === LF) start++;
    const end = bytes.indexOf(LF, start);
    this.#begun += bytes.toString('latin1', start, end < 0 ? bytes.length : end);
    if (this.#begun !== '') this.#isKept = false;
    if (end < 0 && this.#begun.length < LIMITS.headerFields) return bytes.length;
    const line = this.#begun.length < LIMITS.headerFields ? parseStatusLine(this.#begun) : undefined;
    if (line) this.#lines.push(line);
    this.#begun = '';
    this.#next = line && line.status >= 100 && line.status < 200 ? 'fields' : 'rest';
    this.#ofEmptyLine = 2; // the end of this line
    return end + 1;
  }

  /** Passes over the fields of an interim answer, which has no body whatever it says (RFC 9110 section 15.2). @returns where they end */
  #skipFields(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length && this.#ofEmptyLine < EMPTY_LINE.length) {
      const byte = bytes[at++];
      if (byte === EMPTY_LINE[this.#ofEmptyLine]) this.#ofEmptyLine++;
      else this.#ofEmptyLine = byte === CR ? 1 : 0;
    }
    if (this.#ofEmptyLine === EMPTY_LINE.length) this.#next = 'line';
    return at;
  }
}

/** A connection of Node.js's client, from a request to the head of its answer. */
export class WatchedAnswer extends WatchedConnection {
  /** Behind the first line: the fields, which Node.js's parser bounds, and what came with their end. */
  readonly #rest: Buffer[] = [];

  override read(bytes: Buffer): number {
    const at = super.read(bytes);
    if (at < bytes.length) this.#rest.push(bytes.subarray(at));
    return at;
  }

  /**
   * The transfer codings of the answer whose head is there, without the white space that the parser passes over: a tab behind `chunked`,
   * which it takes for another coding and Node.js leaves out, is still there. Empty where there are none.
   */
  get coding(): string {
    const rest = Buffer.concat(this.#rest);
    const fields = rest.toString('latin1', 0, rest.indexOf(EMPTY_LINE) + 2);
    const codings = fields.matchAll(/(?:^|\n)transfer-encoding:([^\r\n]*)/gi);
    return Array.from(codings, ([, coding = '']) => trimmed(coding, ' ')).join(', ');
  }
}

/** Watches the connection of a request of Node.js's client until its answer is there, or it ends. */
export function watchAnswer(outgoing: ClientRequest): WatchedAnswer {
  const watched = new WatchedAnswer();
  outgoing.once('socket', (socket) => {
    if (outgoing.reusedSocket) watched.answered(); // to an earlier request
    const read = (bytes: Buffer) => void watched.read(bytes);
    const done = () => socket.off('data', read);
    socket.prependListener('data', read); // before the parser, which listens already
    outgoing.once('response', done).once('upgrade', done).once('close', done);
  });
  return watched;
}

/** The connections of one undici client. */
export class AnswerWatch {
  #current: WatchedConnection | undefined;

  /**
   * The connection that undici is dealing with: right in `onResponseStart`, which is called in the same turn as the reading, and in
   * `onResponseError` where what ended the request was the end of its connection. Not later.
   */
  get current(): WatchedConnection | undefined {
    return this.#current;
  }

  /** Watches a connection, which nobody reads yet. undici takes bytes out of it by `read()` only. */
  watch(socket: Socket): Socket {
    const connection = new WatchedConnection();
    const read = socket.read.bind(socket);
    socket.read = (size) => {
      this.#current = connection;
      const bytes: Buffer | null = read(size);
      if (bytes !== null) connection.read(bytes);
      return bytes;
    };
    // Before undici hears of it, which ends the answer then, or the request.
    socket.on('error', () => {
      this.#current = connection;
      connection.wasReset = true;
    });
    // With this undici ends a request. An error was before, and another connection may have been read since.
    socket.on('close', () => {
      this.#current = connection;
    });
    return socket;
  }
}

function parseStatusLine(line: string): StatusLine | undefined {
  const [, version, status, reason = ''] = /^HTTP\/(\d\.\d) (\d{3})(?: (.*?))?\r?$/.exec(line) ?? [];
  return version === undefined ? undefined : { version, status: Number(status), reason };
}
