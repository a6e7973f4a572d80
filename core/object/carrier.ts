/**
 * The two ways in which an object travels: docs/spec/protected-object.md, "Carriers". Everything here runs on unauthenticated bytes,
 * and holds one line at a time.
 *
 *   <!-- wispr/1\n  base64 in lines of 76 characters  -->\n  fallback page
 */
import { ByteReader } from '../encoding/byte-reader.ts';
import { concat, equalBytes, utf8 } from '../encoding/bytes.ts';
import { ObjectError } from './errors.ts';

const OPENING = utf8('<!-- wispr/1\n');
const CLOSING = '-->\n';
const LINE_LENGTH = 76;
const BYTES_PER_LINE = 57;
const LINE_FEED = 10;
/** Lines decoded before they are handed on together. */
const LINES_PER_PIECE = 256;

/** Puts an object into a comment above `fallbackPage`. */
export function encodeHtmlCarrier(object: Uint8Array, fallbackPage: Uint8Array): Uint8Array {
  const lines: string[] = [];
  for (let offset = 0; offset < object.length; offset += BYTES_PER_LINE) {
    lines.push(`${btoa(String.fromCharCode(...object.subarray(offset, offset + BYTES_PER_LINE)))}\n`);
  }
  return concat(OPENING, utf8(lines.join('')), utf8(CLOSING), fallbackPage);
}

/**
 * The object that `carrier` carries, whichever of the two it is; one layer only.
 *
 * @throws ObjectError `carrier-malformed` out of the stream, where the HTML form is not the one valid spelling
 */
export async function* openCarrier(carrier: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const input = new ByteReader(carrier);
  try {
    const start = await input.readUpTo(OPENING.length);
    if (equalBytes(start, OPENING)) {
      yield* decodeLines(input);
    } else {
      yield start;
      yield* input.remaining();
    }
  } finally {
    await input.cancel();
  }
}

/** Whether a file or an answer that begins with `start` is an HTML carrier. */
export function isHtmlCarrier(start: Uint8Array): boolean {
  return equalBytes(start.subarray(0, OPENING.length), OPENING);
}

async function* decodeLines(input: ByteReader): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let short = false;
  for (let line = await readLine(input); line !== CLOSING; line = await readLine(input)) {
    if (short) throw malformed('a line follows one that is short or padded');
    short = line.length < LINE_LENGTH + 1 || line.endsWith('=\n'); // base64 pads its end only
    pieces.push(decodeLine(line.slice(0, -1)));
    if (pieces.length === LINES_PER_PIECE) {
      yield concat(...pieces);
      pieces = [];
    }
  }
  yield concat(...pieces);
}

function decodeLine(line: string): Uint8Array {
  const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(line) && line.length % 4 === 0 ? atob(line) : '';
  if (line.length > LINE_LENGTH || btoa(bytes) !== line || line.length === 0)
    throw malformed('a line is not base64 in its one spelling');
  return Uint8Array.from(bytes, (character) => character.charCodeAt(0));
}

/** A line with its line feed; at most 77 bytes are looked at. */
async function readLine(input: ByteReader): Promise<string> {
  const line = await input.readThrough(LINE_FEED, LINE_LENGTH + 1);
  if (line === undefined) throw malformed('a line is longer than 76 characters, or the comment has no end');
  return String.fromCharCode(...line);
}

function malformed(what: string): ObjectError {
  return new ObjectError('carrier-malformed', `the HTML form of the object is malformed: ${what}`);
}
