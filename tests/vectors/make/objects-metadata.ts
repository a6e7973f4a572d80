import { concat, u32, utf8 } from '../../../core/encoding/bytes.ts';
import type { ObjectVector } from '../format.ts';
import { encryptMessage, joinObject, withPayload } from './forge.ts';
import { refused, smallParts } from './vector.ts';

/** What would widen who may store a document, and other spellings of a lifetime. */
const BAD_LIFETIMES = [
  'public',
  'public, max-age=600',
  'no-store',
  'max-age=600, public',
  'max-age=600, s-maxage=600',
  'max-age=600,immutable',
  'immutable, max-age=600',
  'Max-Age=600',
  'max-age=0600',
  'max-age=-1',
  'max-age="600"',
  'max-age=1000000000',
  'max-age=',
];

/** Messages that the publisher encrypted and signed, with metadata that no reader takes. */
export async function badMetadata(): Promise<ObjectVector[]> {
  const parts = await smallParts('metadata');
  const content = utf8('content');
  const good = '{"contentLength":7,"mediaType":"text/plain"}';
  const fronts: Record<string, Uint8Array> = {
    'an empty message': new Uint8Array(0),
    'a message of three bytes': Uint8Array.of(0, 0, 0),
    'no metadata': concat(u32(0), content),
    'not canonical': front(`${good} `),
    'not JSON': front('contentLength=7'),
    'unknown member': front('{"contentLength":7,"extra":1,"mediaType":"text/plain"}'),
    'without mediaType': front('{"contentLength":7}'),
    'without contentLength': front('{"mediaType":"text/plain"}'),
    'contentLength past the end': front('{"contentLength":8,"mediaType":"text/plain"}'),
    'contentLength of 2^53 - 1': front('{"contentLength":9007199254740991,"mediaType":"text/plain"}'),
    'contentLength as a string': front('{"contentLength":"7","mediaType":"text/plain"}'),
    'unknown content coding': front('{"contentCoding":"deflate","contentLength":7,"mediaType":"text/plain"}'),
    'lastModified as a string': front('{"contentLength":7,"lastModified":"0","mediaType":"text/plain"}'),
    'media type with a line end': front('{"contentLength":7,"mediaType":"text/plain\\r\\nset-cookie: a=b"}'),
    'media type with a line end in a parameter': front('{"contentLength":7,"mediaType":"text/plain; a\\r\\nb"}'),
    'media type of 256 characters': front(`{"contentLength":7,"mediaType":"text/${'x'.repeat(251)}"}`),
    'media type with a space at the end': front('{"contentLength":7,"mediaType":"text/plain; "}'),
    'media type beyond ASCII': front('{"contentLength":7,"mediaType":"text/plain; é"}'),
    'response header that may not be signed': front(
      '{"contentLength":7,"headers":{"set-cookie":"a=b"},"mediaType":"text/plain"}',
    ),
    'response header in another case': front('{"contentLength":7,"headers":{"Link":"<a>"},"mediaType":"text/plain"}'),
    'response header with a line end': front(
      '{"contentLength":7,"headers":{"link":"a\\r\\nb: c"},"mediaType":"text/plain"}',
    ),
    'empty response header': front('{"contentLength":7,"headers":{"link":""},"mediaType":"text/plain"}'),
    'response header of 4,097 characters': front(
      `{"contentLength":7,"headers":{"link":"${'x'.repeat(4097)}"},"mediaType":"text/plain"}`,
    ),
    ...Object.fromEntries(
      BAD_LIFETIMES.map((value) => [
        `cache-control: ${value}`,
        front(`{"contentLength":7,"headers":{"cache-control":${JSON.stringify(value)}},"mediaType":"text/plain"}`),
      ]),
    ),
    'metadata length past the end': concat(u32(good.length + 8), utf8(good), content),
    'metadata of 16,001 bytes': front(metadataOfLength(16_001, content.length)),
    'metadata length of 16,001': concat(u32(16_001), new Uint8Array(100)),
    'metadata length of 2^32 - 1': concat(u32(2 ** 32 - 1), utf8(good), content),
  };
  return Promise.all(
    Object.entries(fronts).map(async ([name, message]) => {
      const payload = await encryptMessage(`metadata, ${name}`, '/a.html', message);
      return refused(`metadata, ${name}`, 'payload-invalid', joinObject(await withPayload(parts, payload)), {
        attacks: [4],
      });
    }),
  );

  function front(metadata: string): Uint8Array {
    return concat(u32(utf8(metadata).length), utf8(metadata), content);
  }
}

/** Metadata that is right but for its length: four response headers of about 4,000 characters. */
export function metadataOfLength(length: number, contentLength: number): string {
  const write = (rest: number) =>
    JSON.stringify({
      contentLength,
      headers: {
        'content-disposition': 'x'.repeat(3900),
        'content-security-policy': 'x'.repeat(3900),
        link: 'x'.repeat(4000),
        'referrer-policy': 'x'.repeat(rest),
      },
      mediaType: 'text/plain',
    });
  return write(length - write(0).length);
}
