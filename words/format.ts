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

const UNITS = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
] as const;

/** Says how many days, hours or minutes ago something was; `undefined`: not even a minute. Times in seconds since 1970. */
export function agoIn(locale: string, time: number, now: number): string | undefined {
  const passed = now - time;
  for (const [length, unit] of UNITS)
    if (passed >= length) return new Intl.RelativeTimeFormat(locale).format(-Math.floor(passed / length), unit);
  return undefined;
}

/** A length in bytes. */
export function bytesIn(locale: string, bytes: number): string {
  const [length, unit] = bytes >= 1e9 ? [1e9, 'giga'] : bytes >= 1e6 ? [1e6, 'mega'] : [1e3, 'kilo'];
  const options = { style: 'unit', unit: `${unit}byte`, maximumSignificantDigits: 2 } as const;
  return new Intl.NumberFormat(locale, options).format(bytes / length);
}
