/** Range requests: RFC 9110 section 14. */
import type { ByteRange } from '../core/object/geometry.ts';

/** Number of ranges above which the field is ignored (section 14.2): no reader of a part has use for more. */
const MOST_RANGES = 32;

/** Ranges in ascending order, apart from one another. */
export type RangeWish = readonly ByteRange[] | 'unsatisfiable' | undefined;

/**
 * Reads what a `Range` header wishes of `length` bytes. Ranges that overlap or touch become one, so that no byte is sent twice, and all are put in
 * order, so that one pass over the content has them all.
 *
 * @returns `undefined` where it is to be ignored: absent, malformed, another unit, too many
 */
export function parseByteRanges(header: string | undefined, length: number): RangeWish {
  const [, list = ''] = /^bytes=(.*)$/i.exec(header ?? '') ?? [];
  const specs = list.split(',').filter((spec) => spec.trim() !== '');
  if (specs.length === 0 || specs.length > MOST_RANGES) return undefined;
  const wanted: ByteRange[] = [];
  for (const spec of specs) {
    const range = parseRange(spec, length);
    if (range === undefined) return undefined;
    if (range !== 'unsatisfiable') wanted.push(range);
  }
  return wanted.length === 0 ? 'unsatisfiable' : joined(wanted);
}

/** Tells whether a range could be honoured, before the document is known. */
export function isRange(header: string | undefined): boolean {
  return header !== undefined && parseByteRanges(header, Number.MAX_SAFE_INTEGER) !== undefined;
}

function parseRange(spec: string, length: number): ByteRange | 'unsatisfiable' | undefined {
  const [matched, first, last] = /^[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/.exec(spec) ?? [];
  if (matched === undefined || (!first && !last)) return undefined;
  if (!first) return suffix(Number(last), length);
  const start = Number(first);
  const end = last ? Number(last) + 1 : length;
  if (end <= start && last) return undefined; // the last position is before the first: invalid, section 14.1.1
  return start < length ? { start, end: Math.min(end, length) } : 'unsatisfiable';
}

function joined(ranges: readonly ByteRange[]): ByteRange[] {
  const apart: ByteRange[] = [];
  for (const { start, end } of ranges.toSorted((one, other) => one.start - other.start)) {
    const before = apart.at(-1);
    if (before && start <= before.end) apart[apart.length - 1] = { ...before, end: Math.max(before.end, end) };
    else apart.push({ start, end });
  }
  return apart;
}

function suffix(wanted: number, length: number): ByteRange | 'unsatisfiable' {
  return wanted > 0 && length > 0 ? { start: Math.max(0, length - wanted), end: length } : 'unsatisfiable';
}
