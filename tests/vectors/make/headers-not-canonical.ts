/** Second encodings of a header that is otherwise right: step 3. Each is signed by the publisher as it stands. */
import { concat, utf8 } from '../../../core/encoding/bytes.ts';
import type { ObjectVector } from '../format.ts';
import { joinObject, withHeaderBytes } from './forge.ts';
import { refused, smallParts } from './vector.ts';

export async function notCanonicalHeaders(): Promise<ObjectVector[]> {
  const parts = await smallParts('canonical');
  const header = new TextDecoder().decode(parts.header);
  const member = (name: string) => header.match(new RegExp(`"${name}":(?:"[^"]*"|\\d+)`))?.[0] ?? '';
  const reordered = header.replace(member('blockChunks'), 'X').replace(member('site'), member('blockChunks'));
  const encodings: Record<string, string> = {
    'a space behind a colon': header.replace(':', ': '),
    'a line feed at the end': `${header}\n`,
    'bytes behind the end': `${header}{}`,
    'a member twice, with the same value': header.replace('{', `{${member('blockChunks')},`),
    'a member twice, with other values': header.replace('{', '{"blockChunks":1,'),
    'members in another order': reordered.replace('X', member('site')),
    'an escape where none is needed': header.replace('news.example', 'n\\u0065ws.example'),
    'an escaped slash': header.replace('/a.html', '\\/a.html'),
    'an escape in a name': header.replace('"path"', '"p\\u0061th"'),
    'an integer as a fraction': header.replace('"blockChunks":4', '"blockChunks":4.0'),
    'an integer with an exponent': header.replace('"blockChunks":4', '"blockChunks":4e0'),
    'a leading zero': header.replace('"blockChunks":4', '"blockChunks":04'),
    'minus zero': header.replace('"blockChunks":4', '"blockChunks":-0'),
    'a negative number': header.replace('"blockChunks":4', '"blockChunks":-4'),
    'a fraction': header.replace('"blockChunks":4', '"blockChunks":4.5'),
    'the number 2^53': header.replace(/"payloadLength":\d+/, `"payloadLength":${2 ** 53}`),
    'the number 2^53 + 1': header.replace(/"payloadLength":\d+/, '"payloadLength":9007199254740993'),
    'the number 1e400': header.replace(/"payloadLength":\d+/, '"payloadLength":1e400'),
    null: header.replace('"blockChunks":4', '"blockChunks":null'),
    true: header.replace('"blockChunks":4', '"blockChunks":true'),
    'a byte order mark': `\ufeff${header}`,
    'a lone surrogate': header.replace('/a.html', '/\\ud800.html'),
    'single quotes': header.replaceAll('"', "'"),
    'a trailing comma': header.replace('}', ',}'),
    'a comment': header.replace('{', '{/**/'),
    'cut short': header.slice(0, -1),
    'nested nine deep': header.replace('"blockChunks":4', `"blockChunks":${'['.repeat(9)}4${']'.repeat(9)}`),
    'twenty thousand brackets': '['.repeat(20_000),
  };
  const vectors = Object.entries(encodings).map(([name, text]) => forged(name, utf8(text)));
  const invalid = utf8(header.replace('/a.html', '/a?.html'));
  invalid[invalid.indexOf('?'.charCodeAt(0))] = 0xff;
  const overlong = concat(utf8(header.slice(0, 1)), Uint8Array.of(0xc0, 0xa0), utf8(header.slice(1)));
  return Promise.all([
    ...vectors,
    forged('invalid UTF-8', invalid),
    forged('overlong UTF-8', overlong),
    forged('a surrogate in UTF-8', concat(utf8('"'), Uint8Array.of(0xed, 0xa0, 0x80), utf8('"'))),
  ]);

  function forged(name: string, bytes: Uint8Array): Promise<ObjectVector> {
    const object = joinObject(withHeaderBytes(parts, bytes));
    return refused(`header not canonical: ${name}`, 'header-invalid', object, { attacks: [4] });
  }
}
