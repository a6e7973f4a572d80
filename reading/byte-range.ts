/** Range requests: RFC 9110 section 14. Several ranges at once are not served; the whole is. */
import type { ByteRange } from '../core/object/geometry.ts';

export type RangeWish = ByteRange | 'unsatisfiable' | undefined;

/**
 * What a `Range` header wishes of `length` bytes.
 *
 * @returns `undefined` where it is to be ignored: absent, malformed, another unit, or several ranges
 */
export function parseByteRange(header: string | undefined, length: number): RangeWish {
  const [matched, first, last] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header ?? '') ?? [];
  if (matched === undefined || (!first && !last)) return undefined;
  if (!first) return suffix(Number(last), length);
  const start = Number(first);
  const end = last ? Number(last) + 1 : length;
  if (end <= start && last) return undefined; // the last position is before the first: invalid, section 14.1.1
  return start < length ? { start, end: Math.min(end, length) } : 'unsatisfiable';
}

/** Whether it is worth looking at: what {@link parseByteRange} may honour. */
export function isSingleRange(header: string | undefined): boolean {
  return header !== undefined && parseByteRange(header, Number.MAX_SAFE_INTEGER) !== undefined;
}

function suffix(wanted: number, length: number): RangeWish {
  return wanted > 0 && length > 0 ? { start: Math.max(0, length - wanted), end: length } : 'unsatisfiable';
}

/** A range of content that comes from its beginning. What lies before it is verified and dropped. */
export async function* sliceOf(
  content: AsyncIterable<Uint8Array>,
  { start, end }: ByteRange,
): AsyncGenerator<Uint8Array> {
  let position = 0;
  for await (const piece of content) {
    const { length } = piece; // the consumer may give its memory back, and it is empty then
    const from = Math.max(0, start - position);
    const to = Math.min(length, end - position);
    if (to > from) yield piece.subarray(from, to);
    position += length;
    if (position >= end) return;
  }
}
