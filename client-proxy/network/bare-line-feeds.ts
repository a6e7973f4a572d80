/**
 * Answers whose lines end in LF alone, as embedded servers and CGI programs write them (RFC 9112 section 2.2). Node.js's parser (llhttp, strict)
 * takes CRLF only, and has no option for just that: so the head is changed before it comes there. Bodies, chunks and trailers stay as they are.
 */
import type { Duplex } from 'node:stream';

const CR = 13;
const LF = 10;
const CRLF = Buffer.from('\r\n');
/** An answer behind which another head comes. 101 is none. */
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d/;
const STATUS_LENGTH = 'HTTP/1.1 200'.length;

/** Has LF end lines of the next answer's head on a connection, and of interim answers before it. */
export function acceptBareLineFeeds(socket: Duplex): void {
  const { push } = Object.getPrototypeOf(socket) as Duplex;
  const head = new AnswerHead();
  socket.push = (chunk: Buffer | null, ...rest) => {
    const changed = chunk && head.read(chunk);
    if (head.isOver) socket.push = push;
    return push.call(socket, changed, ...rest);
  };
}

class AnswerHead {
  isOver = false;
  /** Beginning of the status line. */
  #begin = '';
  #isFirstLine = true;
  /** Length and last byte of the part of the present line that came in earlier chunks. */
  #length = 0;
  #last = 0;

  read(chunk: Buffer): Buffer {
    const pieces: Buffer[] = [];
    let [unchanged, at] = [0, 0];
    for (let end = chunk.indexOf(LF); end >= 0 && !this.isOver; end = chunk.indexOf(LF, at)) {
      this.#note(chunk, at, end);
      const isBare = this.#last !== CR;
      if (isBare) {
        pieces.push(chunk.subarray(unchanged, end), CRLF);
        unchanged = end + 1;
      }
      this.#endLine(isBare ? this.#length : this.#length - 1);
      at = end + 1;
    }
    if (!this.isOver) this.#note(chunk, at, chunk.length);
    return pieces.length === 0 ? chunk : Buffer.concat([...pieces, chunk.subarray(unchanged)]);
  }

  #note(chunk: Buffer, from: number, to: number): void {
    if (this.#isFirstLine) this.#begin += chunk.toString('latin1', from, Math.min(to, from + STATUS_LENGTH));
    this.#length += to - from;
    if (to > from) this.#last = chunk[to - 1] ?? 0;
  }

  #endLine(length: number): void {
    if (length === 0 && this.#begin !== '') {
      this.isOver = !INTERIM.test(this.#begin);
      this.#begin = '';
    }
    this.#isFirstLine = this.#begin === '';
    [this.#length, this.#last] = [0, 0];
  }
}
