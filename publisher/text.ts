/** Text for people's eyes that may come from files, and from hosts that nobody trusts. */

/** Makes control characters, which can rewrite what a terminal shows, visible. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

const SHOWN = 5;

/** A few items of a list, and how many more there are. */
export function someOf(items: readonly string[], separator = ', '): string {
  const shown = items.slice(0, SHOWN).join(separator);
  return items.length > SHOWN ? `${shown}${separator}and ${items.length - SHOWN} more` : shown;
}

/** `1 file`, `2 files`. */
export function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? singular : plural}`;
}
