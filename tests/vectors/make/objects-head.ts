import { concat, u32, utf8 } from '../../../core/encoding/bytes.ts';
import type { Json } from '../../../core/encoding/canonical-json.ts';
import { type ObjectVector, toBase64 } from '../format.ts';
import { NOW, otherPublisher, otherSetKey, setKey } from './fixed.ts';
import { headerValue, joinObject, splitObject, withHeader, withHeaderBytes } from './forge.ts';
import { notCanonicalHeaders } from './headers-not-canonical.ts';
import { badSignatures } from './objects-signature.ts';
import { READER, refused, smallHead, smallObject, smallParts, TEXT } from './vector.ts';

export async function refusedHeads(): Promise<ObjectVector[]> {
  return [
    ...(await unrecognised()),
    ...(await badLengths()),
    ...(await notCanonicalHeaders()),
    ...(await invalidHeaders()),
    ...(await badSignatures()),
    ...(await wrongScope()),
    ...(await wrongKeys()),
  ];
}

async function unrecognised(): Promise<ObjectVector[]> {
  const good = await smallObject('unrecognised');
  const rest = good.subarray(8);
  const page = utf8('<!doctype html><title>Read this with a Reader</title>\n');
  const mangled = concat(utf8('wispr/1\r\n'), rest);
  const asText = utf8(new TextDecoder().decode(good));
  return Promise.all([
    refused('empty file', 'object-unrecognised', new Uint8Array(0), { attacks: [1] }),
    refused('seven bytes', 'object-unrecognised', good.subarray(0, 7), { attacks: [1, 10] }),
    refused('a fallback page', 'object-unrecognised', page, { attacks: [23] }),
    refused('line ends turned into CR LF', 'object-unrecognised', mangled, { attacks: [3] }),
    refused('a line feed in front', 'object-unrecognised', concat(utf8('\n'), good), { attacks: [3] }),
    refused('a byte order mark in front', 'object-unrecognised', concat(utf8('\ufeff'), good), { attacks: [3] }),
    refused('read as text and written as UTF-8', 'header-invalid', asText, { attacks: [3] }),
    refused('version 2', 'object-version', concat(utf8('wispr/2\n'), rest), { attacks: [2] }),
    refused('version 0', 'object-version', concat(utf8('wispr/0\n'), rest), { attacks: [2] }),
    refused('version 10', 'object-version', concat(utf8('wispr/10\n'), rest), { attacks: [2] }),
    refused('version 01', 'object-version', concat(utf8('wispr/01\n'), rest), { attacks: [2] }),
    refused('version without a number', 'object-unrecognised', concat(utf8('wispr/a\n'), rest), { attacks: [2] }),
    refused('another format', 'object-unrecognised', utf8('age-encryption.org/v1\n-> X25519 x\n')),
  ]);
}

async function badLengths(): Promise<ObjectVector[]> {
  const parts = await smallParts('lengths');
  const whole = joinObject(parts);
  const headerEnd = 12 + parts.header.length;
  const claims = [0, 1, 65_537, 2 ** 24, 2 ** 31, 2 ** 32 - 1];
  const cuts: Record<string, number> = {
    'behind the magic': 8,
    'inside the header length': 10,
    'inside the header': 100,
    'behind the header': headerEnd,
    'inside the signature': headerEnd + 63,
    'behind the signature': headerEnd + 64,
    'inside the digests': headerEnd + 64 + 31,
  };
  return Promise.all([
    ...claims.map((length) =>
      refused(`header length ${length}`, 'header-invalid', joinObject({ ...parts, headerLength: u32(length) }), {
        attacks: [15],
      }),
    ),
    ...Object.entries(cuts).map(([where, length]) =>
      refused(`cut ${where}`, 'object-truncated', whole.subarray(0, length), { attacks: [10] }),
    ),
    refused(
      'header length of 65,536 and a short file',
      'object-truncated',
      joinObject({ ...parts, headerLength: u32(65_536) }),
      { attacks: [15] },
    ),
    refused(
      'header length one less',
      'header-invalid',
      joinObject({ ...parts, headerLength: u32(parts.header.length - 1) }),
      { attacks: [6] },
    ),
  ]);
}

/** Every member, out of bounds. All of these are signed by the publisher. */
async function invalidHeaders(): Promise<ObjectVector[]> {
  const encrypted = await smallParts('invalid');
  const signed = splitObject(await smallHead());
  const { payloadLength, set, publisher: id, digestListDigest } = headerValue(encrypted.header) as Record<string, Json>;
  const metadata = headerValue(signed.header).metadata as Record<string, Json>;
  const changed = (name: string, changes: Record<string, Json | undefined>, attacks: number[] = [4]) =>
    refused(`header, ${name}`, 'header-invalid', joinObject(withHeader(encrypted, changes)), { attacks });
  const changedSigned = (name: string, changes: Record<string, Json | undefined>) =>
    refused(`signed header, ${name}`, 'header-invalid', joinObject(withHeader(signed, changes)), { content: TEXT });
  const text = (value: Json | undefined) => String(value);
  return Promise.all([
    changed('unknown member', { extra: 1 }),
    changed('member __proto__', JSON.parse('{"__proto__":1}')),
    changed('both set and metadata', { metadata }),
    changed('neither set nor metadata', { set: undefined }),
    ...['blockChunks', 'digestListDigest', 'path', 'payloadLength', 'publisher', 'site'].map((name) =>
      changed(`without ${name}`, { [name]: undefined }),
    ),
    ...[
      '',
      'News.example',
      'news.example.',
      '.example',
      'a..example',
      '-a.example',
      'a-.example',
      'news.example:80',
      '127.0.0.1',
      'news.0x7f',
      'news_paper.example',
      'bücher.example',
      `${'a'.repeat(64)}.example`,
      `${'a.'.repeat(127)}`,
      7,
    ].map((site) => changed(`site ${String(site).slice(0, 24)}`, { site })),
    ...[
      '',
      'a.html',
      '/',
      '/a/',
      '//a',
      '/a//b',
      '/./a',
      '/a/..',
      '/a\\b',
      '/a\u0000',
      '/a\n',
      '/a\u007f',
      `/${'a'.repeat(2048)}`,
      `/${'é'.repeat(1024)}`,
      ['/a.html'],
    ].map((path) => changed(`path ${JSON.stringify(path).slice(0, 24)}`, { path })),
    ...[0, 55, 71, 16_400 + 56 + 15, 56 + 16_400, Number.MAX_SAFE_INTEGER, String(payloadLength)].map((length) =>
      changed(`payloadLength ${JSON.stringify(length)}`, { payloadLength: length }, [11, 15]),
    ),
    ...[0, 1025, 2 ** 31, Number.MAX_SAFE_INTEGER, '4'].map((blockChunks) =>
      changed(`blockChunks ${JSON.stringify(blockChunks)}`, { blockChunks }, [15]),
    ),
    refused(
      'header, payloadLength 2147483648, and a short file',
      'object-truncated',
      joinObject(withHeader(encrypted, { payloadLength: 2 ** 31 })),
      { attacks: [15] },
    ),
    changed('65,537 blocks', { blockChunks: 1, payloadLength: 56 + 65_536 * 16_400 + 16 }, [15]),
    ...keyIdSpellings(text(set)).map(([name, value]) => changed(`set ${name}`, { set: value })),
    ...keyIdSpellings(text(id)).map(([name, value]) => changed(`publisher ${name}`, { publisher: value })),
    ...keyIdSpellings(text(digestListDigest)).map(([name, value]) =>
      changed(`digestListDigest ${name}`, { digestListDigest: value }),
    ),
    ...['[]', '"text"', '77', '{}'].map((json) =>
      refused(`header is ${json}`, 'header-invalid', joinObject(withHeaderBytes(encrypted, utf8(json))), {
        attacks: [4],
      }),
    ),
    changedSigned('contentLength differs', { metadata: { ...metadata, contentLength: TEXT.length + 1 } }),
    changedSigned('with a content coding', { metadata: { ...metadata, contentCoding: 'gzip' } }),
    changedSigned('media type without subtype', { metadata: { ...metadata, mediaType: 'text' } }),
    changedSigned('unknown response header', { metadata: { ...metadata, headers: { 'set-cookie': 'a=b' } } }),
    changedSigned('cache-control beyond a lifetime', {
      metadata: { ...metadata, headers: { 'cache-control': 'public, max-age=600' } },
    }),
    changedSigned('metadata is an array', { metadata: [] }),
    changedSigned('65,537 blocks', {
      blockChunks: 1,
      metadata: { ...metadata, contentLength: 65_537 * 16_384 },
      payloadLength: 65_537 * 16_384,
    }),
  ]);
}

/** Spellings of a 32-byte value that are not its one spelling. The last of 43 characters carries two unused bits. */
function keyIdSpellings(id: string): [string, Json][] {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet[alphabet.indexOf(id.slice(-1)) | 1] ?? '';
  return [
    ['with padding', `${id}=`],
    ['with an unused bit set', id.slice(0, -1) + last],
    ['too short', id.slice(0, -1)],
    ['too long', `${id}A`],
    ['in the other alphabet', `+/${id.slice(2)}`],
    ['with a line feed', `${id.slice(0, -1)}\n`],
    ['as a number', 7],
  ];
}

async function wrongScope(): Promise<ObjectVector[]> {
  const object = await smallObject('scope');
  const byOther = await smallObject('scope', { publisher: otherPublisher });
  const moved = withHeader(await smallParts('scope'), { set: otherSetKey.id }, otherPublisher.secretKey);
  return Promise.all([
    refused('another publisher than expected', 'publisher-unexpected', byOther, { attacks: [20] }),
    refused('asked for under another site', 'site-mismatch', object, {
      attacks: [19],
      reader: { site: 'other.example' },
    }),
    refused('asked for under another path', 'path-mismatch', object, { attacks: [18], reader: { path: '/b.html' } }),
    refused('path in another case', 'path-mismatch', object, { attacks: [18, 88], reader: { path: '/A.html' } }),
    refused('signed head asked for under another path', 'path-mismatch', await smallHead(), {
      attacks: [18],
      content: TEXT,
      reader: { path: '/b.html' },
    }),
    refused('moved to another set', 'signature-invalid', joinObject(moved), { attacks: [21] }),
  ]);
}

async function wrongKeys(): Promise<ObjectVector[]> {
  const object = await smallObject('keys');
  const [key] = READER.keys;
  if (key === undefined) throw new Error('the reader has a key');
  const wrong = { ...key, key: toBase64(otherSetKey.key) };
  const other = { ...key, id: otherSetKey.id, key: toBase64(setKey.key) };
  return Promise.all([
    refused('no key', 'key-missing', object, { reader: { keys: [] } }),
    refused('the key of another set only', 'key-missing', object, { reader: { keys: [other] } }),
    refused('another key under the id of the set', 'key-id-mismatch', object, {
      attacks: [16, 43],
      reader: { keys: [wrong] },
    }),
    refused('key not yet valid', 'key-not-valid-now', object, {
      attacks: [22],
      reader: { keys: [{ ...key, notBefore: NOW + 1 }] },
    }),
    refused('key expired', 'key-not-valid-now', object, {
      attacks: [22],
      reader: { keys: [{ ...key, notAfter: NOW - 1 }] },
    }),
    refused('another key, and expired', 'key-not-valid-now', object, {
      attacks: [22],
      reader: { keys: [{ ...wrong, notAfter: NOW - 1 }] },
    }),
  ]);
}
