/** Header fields of all answers of this program, as a proxy and as a gateway. */

/** Header fields of an answer of this program's own, by name. */
export type HeaderFields = Record<string, string | string[]>;

/** Names this program among the hops of a message. The same everywhere, so that it identifies no reader. */
export const VIA_NAME = 'wispr';

/** Value of `Via` in every answer of this program. */
export const VIA = `1.1 ${VIA_NAME}`;
