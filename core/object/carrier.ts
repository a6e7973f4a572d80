/**
 * The two ways in which an object travels: docs/spec/protected-object.md, "Carriers". Everything here runs on unauthenticated bytes,
 * and holds one line at a time.
 *
 *   <!-- wispr/1\n  base64 in lines of 76 characters  -->\n  fallback page
 */
import { decodeBase64, encodeBase64, STANDARD } from '../encoding/base64.ts';
import { ByteReader } from '../encoding/byte-reader.ts';
import { concat, concatAll, equalBytes, utf8 } from '../encoding/bytes.ts';
import { ObjectError } from './errors.ts';

const OPENING = utf8('<!-- wispr/1\n');
const CLOSING = utf8('-->\n');
const PADDING = utf8('==');
const LINE_END = utf8('\n');
const LINE_LENGTH = 76;
const LINE_FEED = 10;
/** Lines decoded before they are handed on together. */
const LINES_PER_PIECE = 256;

/** Puts an object into a comment above `fallbackPage`. */
export function encodeHtmlCarrier(object: Uint8Array, fallbackPage: Uint8Array): Uint8Array {
  const text = concat(encodeBase64(object, STANDARD), PADDING.subarray(0, (3 - (object.length % 3)) % 3));
  const parts = [OPENING];
  for (let offset = 0; offset < text.length; offset += LINE_LENGTH) {
    parts.push(text.subarray(offset, offset + LINE_LENGTH), LINE_END);
  }
  return concatAll([...parts, CLOSING, fallbackPage]);
}

/**
 * The object that `carrier` carries, whichever of the two it is; one layer only.
 *
 * @throws ObjectError `object-unrecognised` out of the stream, where the HTML form is not the one valid spelling
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

/** Tells whether a file or an answer that begins with `start` is an HTML carrier. */
export function isHtmlCarrier(start: Uint8Array): boolean {
  return equalBytes(start.subarray(0, OPENING.length), OPENING);
}

async function* decodeLines(input: ByteReader): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let last = false;
  for (let line = await readLine(input); !equalBytes(line, CLOSING); line = await readLine(input)) {
    if (last) throw malformed('a line follows one that is short or padded');
    const text = withoutPadding(line.subarray(0, -1));
    last = text.length < LINE_LENGTH; // base64 pads its end only
    pieces.push(decodeLine(text));
    if (pieces.length === LINES_PER_PIECE) {
      yield concatAll(pieces);
      pieces = [];
    }
  }
  yield concatAll(pieces);
}

/** The line without the padding that makes its length a multiple of four; a line without it is malformed, and so is an empty one. */
function withoutPadding(line: Uint8Array): Uint8Array {
  const padding = line.subarray(-2).indexOf(PADDING[0] ?? 0);
  const length = padding < 0 ? line.length : line.length - 2 + padding;
  const wanted = (4 - (length % 4)) % 4;
  if (length === 0 || line.length % 4 !== 0 || !equalBytes(line.subarray(length), PADDING.subarray(0, wanted)))
    throw malformed('a line is not base64 with its padding');
  return line.subarray(0, length);
}

function decodeLine(text: Uint8Array): Uint8Array {
  const bytes = decodeBase64(text, STANDARD);
  if (bytes === undefined) throw malformed('a line is not base64 in its one spelling');
  return bytes;
}

/** A line with its line feed; at most 77 bytes are looked at. */
async function readLine(input: ByteReader): Promise<Uint8Array> {
  const line = await input.readThrough(LINE_FEED, LINE_LENGTH + 1);
  if (line === undefined) throw malformed('a line is longer than 76 characters, or the comment has no end');
  return line;
}

function malformed(what: string): ObjectError {
  return new ObjectError('object-unrecognised', `the HTML form of the object is malformed: ${what}`);
}
