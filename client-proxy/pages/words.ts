/** How the Reader's pages write times, and names that others chose. */
import { lazily } from '../../node-support/lazily.ts';

// Each takes 10 ms to make, and Node.js's tables of languages into memory.
const formatOf = (options: Intl.DateTimeFormatOptions) => lazily(() => new Intl.DateTimeFormat('en-GB', options));
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

/** A publisher's own name, fit to stand inside our sentences: no control characters, nothing that turns the direction of text. */
export function shownName(name: string): string {
  const plain = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim();
  return plain === '' ? 'A publisher without a name' : plain;
}
