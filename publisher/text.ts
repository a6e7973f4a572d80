/** Text for people's eyes that may come from files, and from hosts that nobody trusts. */

/**
 * Makes characters visible that can rewrite what a terminal shows, or look like nothing or like a space; of spaces in a row, all but the first,
 * which could move text into another column.
 */
export function printable(text: string): string {
  const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|(?<= ) /gu;
  return text.replace(unseen, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

const SHOWN = 5;

/**
 * A few items of a list, and how many more there are.
 *
 * @param total - how many there are in all, if `items` are only the first of them
 */
export function someOf(items: readonly string[], separator = ', ', total = items.length): string {
  const shown = items.slice(0, SHOWN);
  const more = total - shown.length;
  return more > 0 ? `${shown.join(separator)}${separator}and ${more} more` : shown.join(separator);
}

/** `1 file`, `2 files`. */
export function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? singular : plural}`;
}
