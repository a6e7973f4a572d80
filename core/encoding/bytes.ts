const encoder = /* @__PURE__ */ new TextEncoder();
// Fatal: invalid UTF-8 throws instead of turning into U+FFFD. A byte order mark is a character like any other.
const decoder = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Memory in which short texts are encoded: platforms take ten times as long to make memory for each. */
const scratch = /* @__PURE__ */ new Uint8Array(3072);

/** UTF-8 bytes of `text`. */
export function utf8(text: string): Uint8Array {
  return 3 * text.length <= scratch.length ? utf8InScratch(text).slice() : encoder.encode(text);
}

/** Bytes of a text of at most 1,024 characters, good until the next call. */
export function utf8InScratch(text: string): Uint8Array {
  return scratch.subarray(0, encoder.encodeInto(text, scratch).written);
}

/** The text that `bytes` encode in UTF-8, or `undefined` if they are not valid UTF-8. */
export function fromUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

export function concat(...parts: Uint8Array[]): Uint8Array {
  return concatAll(parts);
}

/**
 * {@link concat} for lists that may be long: a call takes some hundred thousand arguments at most, and a stream may come byte by byte.
 *
 * @param whole - memory for all of them; fresh memory if left out
 * @throws RangeError if that is too short
 */
export function concatAll(
  parts: readonly Uint8Array[],
  whole: Uint8Array = new Uint8Array(lengthOf(parts)),
): Uint8Array {
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

function lengthOf(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

/** `value` as four big-endian bytes; the spec's `u32`. */
export function u32(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}

/** `value`, a safe integer, as eight big-endian bytes; the spec's `u64`. */
export function u64(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
  return bytes;
}

/** Reads the spec's `u32` at `offset`. */
export function readU32(bytes: Uint8Array, offset = 0): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(offset);
}

/** The parts, each behind its length as `u32`, so that no two lists of parts give the same bytes; the spec's `lp`. */
export function lengthPrefixed(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(lengthOf(parts) + 4 * parts.length);
  let offset = 0;
  for (const part of parts) {
    whole.set(u32(part.length), offset);
    whole.set(part, offset + 4);
    offset += 4 + part.length;
  }
  return whole;
}

/** Compares public values. Secrets are compared with `equalSecrets` of the primitives. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}
