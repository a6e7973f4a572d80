/**
 * Matches one candidate of a `srcset` after another, with `matchAll`; its first group is the address. What ends an address: commas at once, or
 * descriptors up to a comma outside parentheses. Takes no time that grows with the square of the length.
 * https://html.spec.whatwg.org/multipage/images.html#parse-a-srcset-attribute
 */
export const SRCSET_CANDIDATE =
  /[\t\n\f\r ,]*(?=[^\t\n\f\r ,])([^\t\n\f\r ]*[^\t\n\f\r ,])(?:,+|(?:[^,(]+|\([^)]*\)?)*,?)/dgy;
