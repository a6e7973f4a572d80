/** What the answers of this program have in common, whichever door they leave by. */

/** Header fields of an answer of this program's own, by name. */
export type HeaderFields = Record<string, string | string[]>;

/** Every answer of this program names the hop. */
export const VIA = '1.1 wispr';
