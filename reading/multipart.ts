/** Several ranges in one answer: `multipart/byteranges`, RFC 9110 section 14.6. */
import type { ByteRange } from '../core/object/geometry.ts';

export interface MultipartFrame {
  readonly mediaType: string;
  /** Bytes of the whole body. */
  readonly length: number;
  /** Bytes in front of each part. */
  readonly fronts: readonly Uint8Array[];
  readonly end: Uint8Array;
}

/**
 * Frames parts of a representation.
 *
 * @param total - bytes of the representation
 * @param mediaType - of the representation
 * @param tag - names it. A digest over the content cannot stand in the content, so a boundary that is made of it ends no part early
 */
export function frameParts(
  ranges: readonly ByteRange[],
  total: number,
  mediaType: string | undefined,
  tag: string,
): MultipartFrame {
  const boundary = `wispr-${tag.replace(/[^\w-]/g, '')}`.slice(0, 70);
  const type = mediaType === undefined ? '' : `Content-Type: ${mediaType}\r\n`;
  const fronts = ranges.map(({ start, end }, index) =>
    bytesOf(
      `${index === 0 ? '' : '\r\n'}--${boundary}\r\n${type}Content-Range: bytes ${start}-${end - 1}/${total}\r\n\r\n`,
    ),
  );
  const end = bytesOf(`\r\n--${boundary}--\r\n`);
  const parts = ranges.map((range) => range.end - range.start);
  const length = [...parts, ...fronts.map((front) => front.length), end.length].reduce((sum, each) => sum + each, 0);
  return { mediaType: `multipart/byteranges; boundary=${boundary}`, length, fronts, end };
}

/** In memory of its own, which whoever sends it may give back. */
function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text).slice();
}
