/** Times as the Reader's pages write them: in the reader's own time zone. */
import { LANGUAGE } from './texts-control.ts';

const DAY = new Intl.DateTimeFormat(LANGUAGE.dates, { dateStyle: 'long' });
const MOMENT = new Intl.DateTimeFormat(LANGUAGE.dates, { dateStyle: 'medium', timeStyle: 'short' });
const CLOCK = new Intl.DateTimeFormat(LANGUAGE.dates, { timeStyle: 'short' });

/** @param seconds - since 1970, like all here */
export function dayOf(seconds: number): string {
  return DAY.format(seconds * 1000);
}

export function momentOf(seconds: number): string {
  return MOMENT.format(seconds * 1000);
}

/** The time of day; with the day, where it is another one. */
export function clockOf(seconds: number, now: number): string {
  return dayOf(seconds) === dayOf(now) ? CLOCK.format(seconds * 1000) : momentOf(seconds);
}

/** For machines, in `<time datetime>`. */
export function isoOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
