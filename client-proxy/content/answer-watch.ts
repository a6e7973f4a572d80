/**
 * What undici reads off its connections and does not tell: by which version of HTTP an answer came, on which it depends what may be believed of its
 * length, its status text byte for byte, and whether it ended with a reset, which undici takes for the proper end of an answer without a length.
 */
import type { Socket } from 'node:net';
import { LIMITS } from '../limits.ts';

const [CR, LF] = [13, 10];

/** The first line of an answer, or of the first interim answer before it. */
export interface StatusLine {
  /** Of HTTP, such as `1.1`. */
  readonly version: string;
  readonly status: number;
  /** One character a byte. */
  readonly reason: string;
}

/** A connection whose answers are asked for one after another. */
export class WatchedConnection {
  #line: StatusLine | undefined;
  /** What has come of the first line; `undefined` behind it. */
  #begun: string | undefined = '';
  /** Whether the other side broke it off. */
  wasReset = false;

  /** Of the answer that is under way; `undefined` where it did not begin with one. */
  get statusLine(): StatusLine | undefined {
    return this.#line;
  }

  /** An answer is all there: what comes next is the first line of another. */
  answered(): void {
    this.#begun = '';
    this.#line = undefined;
  }

  read(bytes: Buffer): void {
    if (this.#begun === undefined) return;
    let start = 0;
    // The parser passes over empty lines before an answer.
    if (this.#begun === '') while (bytes[start] === CR || bytes[start] === LF) start++;
    const end = bytes.indexOf(LF, start);
    this.#begun += bytes.toString('latin1', start, end < 0 ? bytes.length : end);
    if (end < 0 && this.#begun.length < LIMITS.headerFields) return;
    this.#line = this.#begun.length < LIMITS.headerFields ? parseStatusLine(this.#begun) : undefined;
    this.#begun = undefined;
  }
}

/** The connections of one undici client. */
export class AnswerWatch {
  #reading: WatchedConnection | undefined;

  /**
   * The connection whose bytes undici is looking into: right in `onResponseStart`, which is called in the same turn as the reading. Not later.
   *
   * @throws TypeError if nothing was read
   */
  get reading(): WatchedConnection {
    if (this.#reading === undefined) throw new TypeError('nothing was read');
    return this.#reading;
  }

  /** Watches a connection, which nobody reads yet. undici takes bytes out of it by `read()` only. */
  watch(socket: Socket): Socket {
    const connection = new WatchedConnection();
    const read = socket.read.bind(socket);
    socket.read = (size) => {
      this.#reading = connection;
      const bytes: Buffer | null = read(size);
      if (bytes !== null) connection.read(bytes);
      return bytes;
    };
    // Before undici hears of it, which ends the answer then.
    socket.on('error', () => {
      connection.wasReset = true;
    });
    return socket;
  }
}

function parseStatusLine(line: string): StatusLine | undefined {
  const [, version, status, reason = ''] = /^HTTP\/(\d\.\d) (\d{3})(?: (.*?))?\r?$/.exec(line) ?? [];
  return version === undefined ? undefined : { version, status: Number(status), reason };
}
