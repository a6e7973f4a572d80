/** Answers with several ranges: `multipart/byteranges`, RFC 9110 section 14.6. */
import type { ByteRange } from '../core/object/geometry.ts';

export interface MultipartFrame {
  readonly mediaType: string;
  readonly length: number;
  readonly fronts: readonly Uint8Array[];
  readonly end: Uint8Array;
}

/** Frames parts. @param tag - digest over the content, which cannot stand in it: as a boundary it ends no part early */
export function frameParts(
  ranges: readonly ByteRange[],
  total: number,
  mediaType: string | undefined,
  tag: string,
): MultipartFrame {
  const boundary = `wispr-${tag.replace(/[^\w-]/g, '')}`.slice(0, 70);
  const type = mediaType === undefined ? '' : `Content-Type: ${mediaType}\r\n`;
  // The line end before the first boundary may be left out, but zsync skips a line there.
  const fronts = ranges.map(({ start, end }) =>
    bytesOf(`\r\n--${boundary}\r\n${type}Content-Range: bytes ${start}-${end - 1}/${total}\r\n\r\n`),
  );
  const end = bytesOf(`\r\n--${boundary}--\r\n`);
  const parts = ranges.map((range) => range.end - range.start);
  const length = [...parts, ...fronts.map((front) => front.length), end.length].reduce((sum, each) => sum + each, 0);
  return { mediaType: `multipart/byteranges; boundary=${boundary}`, length, fronts, end };
}

/** Encodes into memory of its own, which the sender may give back. */
function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text).slice();
}

/** Cuts ranges out in one pass; what lies between is verified and dropped. @param frame - of several ranges */
export async function* partsOf(
  content: AsyncIterable<Uint8Array>,
  position: number,
  ranges: readonly ByteRange[],
  frame?: MultipartFrame,
): AsyncGenerator<Uint8Array> {
  let [at, next] = [position, 0];
  for await (const piece of content) {
    const { length } = piece; // the consumer may give its memory back, and it is empty then
    for (let range = ranges[next]; range && range.start < at + length; range = ranges[next]) {
      const front = range.start >= at ? frame?.fronts[next] : undefined;
      if (front) yield front;
      const [from, to] = [Math.max(0, range.start - at), Math.min(length, range.end - at)];
      const following = ranges[next + 1];
      const isShared = following !== undefined && following.start < at + length;
      if (to > from) yield isShared ? piece.slice(from, to) : piece.subarray(from, to);
      if (range.end > at + length) break;
      next++;
    }
    at += length;
    if (next === ranges.length) break;
  }
  if (frame) yield frame.end;
}
