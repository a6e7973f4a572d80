/** Single byte ranges: RFC 9110, section 14. Several ranges at once are answered with the whole, as the section allows. */
import type { ByteRange } from '../../core/object/geometry.ts';

/**
 * What a `Range` header asks for.
 *
 * @param length - bytes of the whole
 * @returns `undefined` where the header is to be ignored; `unsatisfiable` for 416
 */
export function parseRange(header: string | undefined, length: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const suffix = Math.min(Number(last), length);
    return suffix === 0 ? 'unsatisfiable' : { start: length - suffix, end: length };
  }
  if (last !== '' && Number(last) < Number(first)) return undefined;
  if (Number(first) >= length) return 'unsatisfiable';
  return { start: Number(first), end: last === '' ? length : Math.min(Number(last) + 1, length) };
}

/** The part of a stream within `range`. What lies before it is verified and dropped. */
export async function* sliceStream(
  content: AsyncIterable<Uint8Array>,
  { start, end }: ByteRange,
): AsyncGenerator<Uint8Array> {
  let position = 0;
  for await (const piece of content) {
    const part = piece.subarray(Math.max(0, start - position), Math.max(0, end - position));
    position += piece.length;
    if (part.length > 0) yield part;
    if (position >= end) return;
  }
}

/** Whether `Accept-Encoding` (RFC 9110, section 12.5.3) lets a content coding through. */
export function acceptsCoding(header: string | undefined, coding: string): boolean {
  const offers = (header ?? '').split(',').map((offer) =>
    offer
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/),
  );
  const offer = offers.find(([name]) => name === coding) ?? offers.find(([name]) => name === '*');
  return offer !== undefined && !offer.slice(1).some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
}
