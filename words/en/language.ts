/** The language of this folder, and how it says numbers and times. */
import { agoIn, bytesIn, dayOf, type Forms, pluralOf } from '../format.ts';

/** Attributes of a page's root. */
export const LANGUAGE = { lang: 'en', dir: 'ltr' } as const;

export const LOCALE = 'en-GB';

export const plural = (count: number, forms: Forms) => pluralOf(LOCALE, count, forms);

/** @param time - in seconds since 1970 @param timeZone - left out: the computer's */
export const day = (time: number, timeZone?: string) =>
  dayOf(LOCALE, time, { dateStyle: 'long', ...(timeZone && { timeZone }) });

/** Day without its year. */
export const dayOfYear = (time: number) => dayOf(LOCALE, time, { day: 'numeric', month: 'long' });

export const size = (bytes: number) => bytesIn(LOCALE, bytes);

/** Says how long ago something was. Times in seconds since 1970. */
export const ago = (time: number, now: number) => agoIn(LOCALE, time, now) ?? 'just now';
