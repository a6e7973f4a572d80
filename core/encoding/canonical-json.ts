/**
 * Canonical JSON: RFC 8785 (JCS), restricted to objects, arrays, strings and integers from 0 to 2^53 - 1, at most eight levels deep.
 * docs/spec/protected-object.md, "Conventions".
 */
import { fromUtf8, utf8 } from './bytes.ts';

export type Json = string | number | Json[] | { [member: string]: Json };
export type JsonObject = { [member: string]: Json };

const MAXIMUM_DEPTH = 8;

/** The one spelling of `value`. @throws TypeError if it holds anything that the restricted form has no place for */
export function canonicalJson(value: Json): Uint8Array {
  return utf8(serialise(value, 0));
}

/**
 * Parses untrusted bytes. Refuses every spelling but the canonical one by writing the value again and comparing.
 *
 * @returns `undefined` if the bytes are not the canonical form of a value
 */
export function parseCanonicalJson(bytes: Uint8Array): Json | undefined {
  const text = fromUtf8(bytes);
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as Json;
    return serialise(value, 0) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

function serialise(value: Json, depth: number): string {
  if (depth > MAXIMUM_DEPTH) throw new TypeError('canonical JSON: nested too deeply');
  if (typeof value === 'string') return serialiseString(value);
  if (typeof value === 'number') return serialiseInteger(value);
  if (Array.isArray(value)) return `[${value.map((item) => serialise(item, depth + 1)).join(',')}]`;
  if (typeof value !== 'object' || value === null) throw new TypeError('canonical JSON: no place for this type');
  let members = ''; // a list to be joined would be slower: this runs for every document, and mostly before it is compiled
  // Sorted by UTF-16 code units, as RFC 8785 section 3.2.3 wants.
  for (const name of Object.keys(value).sort()) {
    members += `${members === '' ? '' : ','}${serialiseString(name)}:${serialise(value[name] as Json, depth + 1)}`;
  }
  return `{${members}}`;
}

/** Strings that JSON writes as they are, as most are: this test takes a third of the time of JSON's own writer. */
const PLAIN = /^[ !#-[\]-~]*$/;

function serialiseString(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  // A lone surrogate has no UTF-8, so two different values would share one encoding.
  if (!text.isWellFormed()) throw new TypeError('canonical JSON: lone surrogate');
  return JSON.stringify(text);
}

function serialiseInteger(value: number): string {
  if (!Number.isSafeInteger(value) || value < 0 || Object.is(value, -0)) {
    throw new TypeError('canonical JSON: only integers from 0 to 2^53 - 1');
  }
  return String(value);
}

/** Tells whether `value` is a JSON object (not an array). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Tells whether the members of `object` are exactly `required`, and any of `optional`. */
export function hasMembers(object: JsonObject, required: readonly string[], optional: readonly string[] = []): boolean {
  const names = Object.keys(object);
  return (
    required.every((name) => Object.hasOwn(object, name)) &&
    names.every((name) => required.includes(name) || optional.includes(name))
  );
}
