/** Days as other programs write them. */
import { daySpan } from '../../core/keys/set-time.ts';

/** Order in which a day with slashes has its numbers. */
export type DayOrder = 'dmy' | 'mdy';

/** Days without a time, or with one that begins after a space or a `T`. */
const YEAR_FIRST = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ].*)?$/;
const YEAR_LAST = /^(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[, T].*)?$/;

/**
 * Reads a day: `2026-11-30`, also with a time behind it, which is left out; `30.11.2026`; `30/11/2026` or `11/30/2026`.
 *
 * @returns like `2026-11-30`; `ambiguous` where `order` would have to say which it is; `undefined` for what is none
 */
export function dayIn(text: string, order?: DayOrder): string | 'ambiguous' | undefined {
  const [, year = '', month = '', day = ''] = YEAR_FIRST.exec(text) ?? [];
  if (year) return dayFrom(year, month, day);
  const [, first = '', separator, second = '', last = ''] = YEAR_LAST.exec(text) ?? [];
  if (!last) return undefined;
  if (separator === '.' || order === 'dmy') return dayFrom(last, second, first);
  if (order === 'mdy') return dayFrom(last, first, second);
  const both = [dayFrom(last, second, first), dayFrom(last, first, second)];
  const [one, other] = both.filter((found) => found !== undefined);
  return one !== undefined && other !== undefined && one !== other ? 'ambiguous' : one;
}

function dayFrom(year: string, month: string, day: string): string | undefined {
  const text = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return daySpan(text, 'UTC') ? text : undefined;
}
