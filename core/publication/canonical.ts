/**
 * The canonical JSON that TUF's signatures cover (TUF specification section 4.1, "OLPC canonical JSON"): members sorted, no white space, of
 * all characters only `"` and `\` escaped, integers only. Not RFC 8785, which the rest of this project uses.
 */
import { utf8 } from '../encoding/bytes.ts';

/** Values that TUF metadata hold. */
export type TufJson = string | number | boolean | null | TufJson[] | { [member: string]: TufJson };
export type TufObject = { [member: string]: TufJson };

const MAXIMUM_DEPTH = 32;
const ESCAPED = /["\\]/;
const SURROGATE = /[\ud800-\udfff]/;

/** @throws TypeError for numbers that are not safe integers, and for what is nested more than 32 levels deep */
export function tufCanonicalText(value: TufJson, depth = 0): string {
  if (depth > MAXIMUM_DEPTH) throw new TypeError('nested too deeply');
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number') return integer(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => tufCanonicalText(item, depth + 1)).join(',')}]`;
  let members = '';
  for (const name of sortedNames(value)) {
    members += `${members === '' ? '' : ','}${quote(name)}:${tufCanonicalText(value[name] as TufJson, depth + 1)}`;
  }
  return `{${members}}`;
}

/** {@link tufCanonicalText} in UTF-8: the bytes that are signed. */
export function tufCanonical(value: TufJson): Uint8Array {
  return utf8(tufCanonicalText(value));
}

function quote(text: string): string {
  return ESCAPED.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : `"${text}"`;
}

function integer(value: number): string {
  if (!Number.isSafeInteger(value)) throw new TypeError('only integers');
  return String(value);
}

/** Sorts by code points, as every other implementation does; code units differ from them only where there are surrogates. */
function sortedNames(value: TufObject): string[] {
  const names = Object.keys(value);
  return names.some((name) => SURROGATE.test(name)) ? names.sort(byCodePoints) : names.sort();
}

function byCodePoints(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (const [index, character] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (character !== other) return (character.codePointAt(0) ?? 0) - (other.codePointAt(0) ?? 0);
  }
  return left.length - right.length;
}
