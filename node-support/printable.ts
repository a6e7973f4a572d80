/** Text for people's eyes that comes from files, from what was typed, and from hosts that nobody trusts. */

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
