/**
 * The value of a field without the white space around it, which is no part of it (RFC 9110 section 5.5). Not by `trim`, for which much more of Unicode
 * is white space, nor by a regular expression: a value of hardly anything but blanks, which any host can send, would take the square of its length.
 *
 * @param blanks - behind it, where not all of them count for nothing; in front of it they always do
 */
export function trimmed(value: string, blanks = ' \t'): string {
  let [start, end] = [0, value.length];
  while (start < end && ' \t'.includes(value.charAt(start))) start++;
  while (end > start && blanks.includes(value.charAt(end - 1))) end--;
  return value.slice(start, end);
}
