/** Times as the Reader's pages write them: in the reader's own time zone. */
import { lazily } from '../../node-support/lazily.ts';
import { LANGUAGE } from './texts-control.ts';

// Each takes 10 ms to make, and Node.js's tables of languages into memory.
const formatOf = (options: Intl.DateTimeFormatOptions) =>
  lazily(() => new Intl.DateTimeFormat(LANGUAGE.dates, options));
const day = formatOf({ dateStyle: 'long' });
const moment = formatOf({ dateStyle: 'medium', timeStyle: 'short' });
const clock = formatOf({ timeStyle: 'short' });

/** @param seconds - since 1970, like all here */
export function dayOf(seconds: number): string {
  return day().format(seconds * 1000);
}

export function momentOf(seconds: number): string {
  return moment().format(seconds * 1000);
}

/** The time of day; with the day, where it is another one. */
export function clockOf(seconds: number, now: number): string {
  return dayOf(seconds) === dayOf(now) ? clock().format(seconds * 1000) : momentOf(seconds);
}

/** For machines, in `<time datetime>`. */
export function isoOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
