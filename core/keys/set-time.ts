/** The time that stands in the name of a set, and days, in a time zone. */

/** Seconds since 1970: the first one, and the first one after it. */
export interface TimeSpan {
  readonly start: number;
  readonly end: number;
}

/** The day, month or year that stands in the name of a set, in a time zone: `day-2026-11-16`, `2026-11`. */
export function timeOf(setName: string, zone: string): TimeSpan | undefined {
  const [, year, month, day] = /(?<!\d)(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?!\d)/.exec(setName) ?? [];
  if (year === undefined) return undefined;
  try {
    const date = { year: Number(year), month: Number(month ?? 1), day: Number(day ?? 1) };
    const first = Temporal.PlainDate.from(date, { overflow: 'reject' });
    const next = first.add(day ? { days: 1 } : month ? { months: 1 } : { years: 1 });
    return { start: beginningOf(first, zone), end: beginningOf(next, zone) };
  } catch {
    return undefined; // 2026-02-31
  }
}

/**
 * The seconds of a day in a time zone: the first one, and the first one after it.
 *
 * @param date - such as `2026-11-16`, and in no other form
 * @returns `undefined` where there is no such day
 */
export function daySpan(date: string, zone: string): TimeSpan | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(date)) return undefined;
  try {
    const day = Temporal.PlainDate.from(date, { overflow: 'reject' });
    return { start: beginningOf(day, zone), end: beginningOf(day.add({ days: 1 }), zone) };
  } catch {
    return undefined; // 2026-02-31
  }
}

/** The day of a moment in a time zone, such as `2026-11-16`. */
export function dayOf(time: number, zone: string): string {
  return plainDateOf(time, zone).toString();
}

export const PERIODS = ['day', 'week', 'month'] as const;
export type PeriodKind = (typeof PERIODS)[number];

/** The day, the week (from Monday, ISO 8601) or the month of a moment, in a time zone. The next one is that of its `end`. */
export function periodAt(kind: PeriodKind, zone: string, time: number): TimeSpan {
  const day = plainDateOf(time, zone);
  const first = { day, week: day.subtract({ days: day.dayOfWeek - 1 }), month: day.with({ day: 1 }) }[kind];
  const next = first.add({ day: { days: 1 }, week: { weeks: 1 }, month: { months: 1 } }[kind]);
  return { start: beginningOf(first, zone), end: beginningOf(next, zone) };
}

/** Tells whether this is the name of a time zone, such as `Europe/Berlin`. */
export function isTimeZone(text: string): boolean {
  try {
    Temporal.PlainDate.from('2026-01-01').toZonedDateTime(text);
    return true;
  } catch {
    return false;
  }
}

function plainDateOf(time: number, zone: string): Temporal.PlainDate {
  return Temporal.Instant.fromEpochMilliseconds(time * 1000)
    .toZonedDateTimeISO(zone)
    .toPlainDate();
}

/** The first second of a day, which is no midnight where clocks are put forward then. */
function beginningOf(day: Temporal.PlainDate, zone: string): number {
  return day.toZonedDateTime(zone).epochMilliseconds / 1000;
}
