/**
 * Base64, RFC 4648, without padding and in both alphabets. On bytes and by table: platforms' own functions go through strings, which is
 * slow for whole objects, and accept more than one spelling of a value.
 */
export interface Alphabet {
  /** The 64 characters. */
  readonly characters: Uint8Array;
  /** The value of each byte; 255 for bytes that stand for none. */
  readonly values: Uint8Array;
}

/** RFC 4648 section 4. */
export const STANDARD = alphabet('+/');
/** RFC 4648 section 5. */
export const URL_SAFE = alphabet('-_');

/** The characters that spell `bytes`. */
export function encodeBase64(bytes: Uint8Array, { characters }: Alphabet): Uint8Array {
  const text = new Uint8Array(Math.ceil((bytes.length * 4) / 3));
  for (let from = 0, to = 0; from < bytes.length; from += 3, to += 4) {
    const group = ((bytes[from] ?? 0) << 16) | ((bytes[from + 1] ?? 0) << 8) | (bytes[from + 2] ?? 0);
    for (let index = 0; index < 4 && to + index < text.length; index++) {
      text[to + index] = characters[(group >> (18 - 6 * index)) & 63] ?? 0;
    }
  }
  return text;
}

/** The bytes that `text` spells; `undefined` if that is not their one spelling: a foreign byte, or an unused bit that is set. */
export function decodeBase64(text: Uint8Array, { values }: Alphabet): Uint8Array | undefined {
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let [bits, count, all] = [0, 0, 0];
  for (let from = 0, to = 0; from < text.length; from++) {
    const value = values[text[from] ?? 0] ?? 0;
    all |= value;
    bits = ((bits & 0x3f) << 6) | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes[to++] = bits >> count;
  }
  // A foreign byte, a character too many, an unused bit.
  return all > 63 || count === 6 || bits & ((1 << count) - 1) ? undefined : bytes;
}

/** @__NO_SIDE_EFFECTS__ */
function alphabet(lastTwo: string): Alphabet {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
  const characters = new TextEncoder().encode(`${letters}${letters.toLowerCase()}0123456789${lastTwo}`);
  const values = new Uint8Array(256).fill(255);
  for (const [value, character] of characters.entries()) values[character] = value;
  return { characters, values };
}
