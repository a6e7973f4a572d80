/** Numbers, plurals and times as a language has them, by `Intl`. Each is made anew: a page has few, and the next may be in another language. */

/** Forms of a phrase by the language's plural categories; `#` stands for the number. */
export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { readonly other: string };

/** @param locale - as `Intl` names it */
export function pluralOf(locale: string, count: number, forms: Forms): string {
  const form = forms[new Intl.PluralRules(locale).select(count)] ?? forms.other;
  return form.replace('#', new Intl.NumberFormat(locale).format(count));
}

/** A day. @param time - in seconds since 1970 @param options - with the time zone, unless it is the computer's */
export function dayOf(locale: string, time: number, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat(locale, options).format(time * 1000);
}

const UNITS: readonly (readonly [seconds: number, unit: Intl.RelativeTimeFormatUnit])[] = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
];

/** How many days, hours or minutes ago something was; `undefined`: not even a minute. Times in seconds since 1970. */
export function agoIn(locale: string, time: number, now: number): string | undefined {
  const found = UNITS.find(([length]) => now - time >= length);
  if (!found) return undefined;
  const [length, unit] = found;
  return new Intl.RelativeTimeFormat(locale).format(-Math.floor((now - time) / length), unit);
}
