/** Canonical JSON and its second encodings: docs/spec/protected-object.md, "Conventions". */
import { concat, utf8 } from '../../../core/encoding/bytes.ts';
import { type CanonicalJsonVectorFile, toBase64 } from '../format.ts';

/** canonical-json.json */
export function makeCanonicalJsonVectors(): CanonicalJsonVectorFile {
  const texts = (values: Readonly<Record<string, string>>, canonical: boolean) =>
    Object.entries(values).map(([name, text]) => ({ name, bytes: toBase64(utf8(text)), canonical }));
  const raw = Object.entries(NO_TEXT).map(([name, bytes]) => ({ name, bytes: toBase64(bytes), canonical: false }));
  return { vectors: [...texts(CANONICAL, true), ...texts(NOT_CANONICAL, false), ...raw] };
}

const nested = (depth: number, inside: string) => '['.repeat(depth) + inside + ']'.repeat(depth);

const CANONICAL: Readonly<Record<string, string>> = {
  'empty object': '{}',
  'empty array': '[]',
  'empty string': '""',
  zero: '0',
  'the greatest integer': '9007199254740991',
  'members in order': '{"a":1,"b":[1,"2",{}],"c":"d"}',
  'capitals before small letters': '{"A":1,"B":2,"a":3}',
  'digits as text': '{"1":1,"10":2,"2":3}',
  'names beyond the basic plane come before U+FB33': '{"\u20ac":1,"\u{1f600}":2,"\ufb33":3}',
  'an empty name': '{"":1,"a":2}',
  'name __proto__': '{"__proto__":1}',
  'short escapes': '"\\b\\t\\n\\f\\r\\"\\\\"',
  'long escapes': '"\\u0000\\u001f"',
  'characters that are not escaped': '"/\u007f\u0080\u2028\u2029\ufeff\u{1f600}"',
  'letters that compose': '["\u00e9","e\u0301"]',
  'an array inside seven others': nested(8, '1'),
  'an empty array inside eight others': nested(9, ''),
};

const NOT_CANONICAL: Readonly<Record<string, string>> = {
  empty: '',
  'white space in front': ' {}',
  'white space behind': '{} ',
  'line feed behind': '{}\n',
  'white space inside': '{"a": 1}',
  'a second value': '{}{}',
  'a byte order mark': '\ufeff{}',
  'members out of order': '{"b":1,"a":2}',
  'members in the order of code points': '{"\u20ac":1,"\ufb33":3,"\u{1f600}":2}',
  'digits in the order of numbers': '{"1":1,"2":3,"10":2}',
  'a member twice': '{"a":1,"a":1}',
  'a member twice, other values': '{"a":1,"a":2}',
  'a member twice, one escaped': '{"a":1,"\\u0061":1}',
  __proto__: '{"__proto__":1,"__proto__":2}',
  null: 'null',
  true: 'true',
  false: '[false]',
  NaN: 'NaN',
  Infinity: '[Infinity]',
  'minus one': '-1',
  'minus zero': '-0',
  'plus one': '+1',
  'a leading zero': '01',
  'a fraction': '1.5',
  'an integer as a fraction': '1.0',
  'an exponent': '1e2',
  'a capital exponent': '1E2',
  'an empty exponent': '0e0',
  hexadecimal: '0x10',
  '2^53': '9007199254740992',
  '2^53 + 1': '9007199254740993',
  '10^400': '1e400',
  'four hundred digits': '9'.repeat(400),
  'an escaped letter': '"\\u0061"',
  'an escaped slash': '"\\/"',
  'a long escape for a short one': '"\\u000a"',
  'an escape in capitals': '"\\u001F"',
  'an escaped DEL': '"\\u007f"',
  'an escaped line separator': '"\\u2028"',
  'an escaped pair of surrogates': '"\\ud83d\\ude00"',
  'a lone surrogate': '"\\ud800"',
  'a lone low surrogate': '"\\udc00"',
  'surrogates in the wrong order': '"\\udc00\\ud800"',
  'a lone surrogate in a name': '{"\\ud800":1}',
  'a line feed in a string': '"\n"',
  'an escape that is none': '"\\x41"',
  'single quotes': "'a'",
  'a name without quotes': '{a:1}',
  'a trailing comma': '[1,]',
  'a trailing comma in an object': '{"a":1,}',
  'a comment': '{}//',
  'no end': '{"a":1',
  'no value': '{"a":}',
  'a value inside nine arrays': nested(9, '1'),
  'an array inside nine others': nested(10, ''),
  'many brackets': '['.repeat(5000),
  'many brackets, closed': nested(5000, ''),
};

const NO_TEXT: Readonly<Record<string, Uint8Array>> = {
  'a byte that is no UTF-8': concat(utf8('"'), Uint8Array.of(0xff), utf8('"')),
  'UTF-8 cut': concat(utf8('"'), Uint8Array.of(0xc3), utf8('"')),
  'overlong UTF-8': concat(utf8('"'), Uint8Array.of(0xc1, 0xa1), utf8('"')),
  'a surrogate in UTF-8': concat(utf8('"'), Uint8Array.of(0xed, 0xa0, 0x80), utf8('"')),
  'UTF-8 beyond Unicode': concat(utf8('"'), Uint8Array.of(0xf4, 0x90, 0x80, 0x80), utf8('"')),
  'UTF-16': Uint8Array.of(0x7b, 0x00, 0x7d, 0x00),
};
