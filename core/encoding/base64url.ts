/** RFC 4648 section 5 without padding: the only form in which wispr writes short binary values as text. */
export function toBase64url(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/**
 * Decodes what {@link toBase64url} writes and nothing else: padding, white space, the other alphabet and non-zero unused bits
 * are refused, so that every value has one spelling.
 *
 * @param length - the number of bytes that must come out, if it is known
 * @returns `undefined` if `text` is not such a value
 */
export function fromBase64url(text: unknown, length?: number): Uint8Array | undefined {
  if (typeof text !== 'string' || !/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  if (length !== undefined && text.length !== Math.ceil((length * 4) / 3)) return undefined;
  const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  return toBase64url(bytes) === text ? bytes : undefined;
}
