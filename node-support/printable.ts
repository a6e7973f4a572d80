/** Text for people's eyes that comes from files, from what was typed, and from untrusted hosts. */

/** Characters that rewrite what a terminal shows, or look like nothing or like a space, or have no known appearance. */
const UNSEEN = String.raw`[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc]|(?! )\p{Zs}|(?<= ) |\\(?=u\{)`;
/** Marks over the character before them, which strike it out or enclose it: combining class 1, and those that enclose. */
const OVERLAYS = String.raw`[\p{Me}\u0334-\u0338\u1cd4\u1ce2-\u1ce8\u20d2\u20d3\u20d8-\u20da\u20e5\u20e6\u20ea\u20eb\u{10a39}\u{16af0}-\u{16af4}\u{1bc9e}\u{1d167}-\u{1d169}]`;
/** A mark that stands on no letter or digit, or on so many others that no language writes it. */
const LOST_MARK = String.raw`(?<![\p{L}\p{N}\p{M}])\p{M}|(?<=\p{M}{6})\p{M}`;
/** Characters to show by number, with the marks behind them, which would stand on that instead. */
const SHOWN_BY_NUMBER = new RegExp(`(?:${UNSEEN}|${OVERLAYS}|${LOST_MARK})\\p{M}*`, 'gu');

/**
 * Makes characters visible that mislead the eye: those that look like nothing, marks that do not belong where they stand, and of spaces in a
 * row all but the first, which could move text into another column. No two texts come out the same.
 */
export function printable(text: string): string {
  return text.replace(SHOWN_BY_NUMBER, (characters) => {
    return Array.from(characters, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`).join('');
  });
}
