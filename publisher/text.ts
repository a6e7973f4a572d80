/** Text for people's eyes that may come from files, and from hosts that nobody trusts. */

/**
 * Makes characters visible that can rewrite what a terminal shows, or look like nothing or like a space, or of which nobody knows how they look;
 * of spaces in a row, all but the first, which could move text into another column. No two texts come out the same.
 */
export function printable(text: string): string {
  const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc]|(?! )\p{Zs}|(?<= ) |\\(?=u\{)/gu;
  return text.replace(unseen, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** {@link printable}, in quotation marks: where it stands among others, nobody can tell otherwise where it ends. */
export function quoted(text: string): string {
  return printable(JSON.stringify(text));
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
