import { decodeBase64, encodeBase64, URL_SAFE } from './base64.ts';
import { utf8, utf8InScratch } from './bytes.ts';

const decoder = new TextDecoder();
/** Characters of most values. */
const SHORT = 1024;

/** RFC 4648 section 5 without padding: the only form in which wispr writes short binary values as text. */
export function toBase64url(bytes: Uint8Array): string {
  return decoder.decode(encodeBase64(bytes, URL_SAFE));
}

/**
 * Decodes what {@link toBase64url} writes and nothing else: padding, white space, the other alphabet and non-zero unused bits
 * are refused, so that every value has one spelling.
 *
 * @param length - the number of bytes that must come out, if it is known
 * @returns `undefined` if `text` is not such a value
 */
export function fromBase64url(text: unknown, length?: number): Uint8Array | undefined {
  if (typeof text !== 'string') return undefined;
  if (length !== undefined && text.length !== Math.ceil((length * 4) / 3)) return undefined;
  return decodeBase64(text.length <= SHORT ? utf8InScratch(text) : utf8(text), URL_SAFE);
}
