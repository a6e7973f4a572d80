/**
 * Padmé: hides most of a length at little cost. Nikitin, Barman, Lueks, Underwood, Hubaux, Ford: "Reducing Metadata Leakage from Encrypted
 * Files and Communication with PURBs", Proceedings on Privacy Enhancing Technologies 2019(4), section 4 and algorithm 1.
 */

/**
 * The length to which a message of `length` bytes is padded: a number whose binary form has no more significant digits than its exponent
 * takes. At most 12 percent longer, 6 at 64 KiB and 3 at 16 GiB; of lengths up to L, only O(log log L) bits show.
 *
 * @param length - a safe integer, not negative
 */
export function padmeLength(length: number): number {
  if (length < 2) return length;
  const exponent = binaryDigits(length) - 1; // E = ⌊log₂ L⌋
  const significant = binaryDigits(exponent); // S = ⌊log₂ E⌋ + 1
  const step = 2 ** (exponent - significant);
  return step <= 1 ? length : Math.ceil(length / step) * step;
}

/** Counted, not taken from a logarithm, which is off by one near powers of two. */
function binaryDigits(value: number): number {
  const upper = Math.floor(value / 2 ** 32);
  return upper > 0 ? 64 - Math.clz32(upper) : 32 - Math.clz32(value);
}
