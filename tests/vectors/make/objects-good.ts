/** Objects that must be opened. */
import { CHUNK_LENGTH } from '#primitives';
import { encodeHtmlCarrier } from '../../../core/object/carrier.ts';
import { encodeMessageFront } from '../../../core/object/message.ts';
import type { Metadata } from '../../../core/object/metadata.ts';
import { encodeObject, type ObjectOptions } from '../../../core/object/writer.ts';
import type { ObjectVector } from '../format.ts';
import { encryptedOptions, markedContent, NOW, otherSetKey, setKey, sparseObject } from './fixed.ts';
import { metadataOfLength } from './objects-metadata.ts';
import { accepted, READER, signedOptions, smallHead, smallObject, TEXT } from './vector.ts';

export async function goodObjects(): Promise<ObjectVector[]> {
  return [
    ...(await encryptedSizes()),
    ...(await signedSizes()),
    ...(await manyChunks()),
    ...(await metadataOfAllKinds()),
    ...(await pathsAndKeys()),
    ...(await carriers()),
  ];
}

/** Sizes of the message around every border: chunk, block, several blocks. */
async function encryptedSizes(): Promise<ObjectVector[]> {
  const vectors: ObjectVector[] = [];
  for (const length of [0, 1]) vectors.push(await encrypted(`encrypted, content of ${length} bytes`, length));
  const borders = [CHUNK_LENGTH, 2 * CHUNK_LENGTH, 4 * CHUNK_LENGTH, 8 * CHUNK_LENGTH];
  for (const message of borders.flatMap((border) => [border - 1, border, border + 1])) {
    for (const blockChunks of [1, 4]) {
      const name = `encrypted, message of ${message} bytes, blocks of ${blockChunks}`;
      vectors.push(await encrypted(name, contentLengthFor(message), { blockChunks }));
    }
  }
  return vectors;
}

async function encrypted(name: string, length: number, changes: Partial<ObjectOptions> = {}): Promise<ObjectVector> {
  const options = await encryptedOptions(name, length, changes);
  const { object, content } = await sparseObject(options);
  return accepted(name, object, options.metadata, content, { attacks: length === 0 ? [12] : [85] });
}

/** How much content makes a message of `length` bytes with the metadata in front of it. */
function contentLengthFor(length: number): number {
  const metadata = { contentLength: length, mediaType: 'text/html; charset=utf-8' };
  return length - encodeMessageFront(metadata).length;
}

async function signedSizes(): Promise<ObjectVector[]> {
  const vectors: ObjectVector[] = [];
  const borders = [CHUNK_LENGTH, 4 * CHUNK_LENGTH, 8 * CHUNK_LENGTH];
  for (const length of [0, 1, ...borders.flatMap((border) => [border - 1, border, border + 1])]) {
    for (const blockChunks of length < CHUNK_LENGTH - 1 ? [4] : [1, 4]) {
      const content = markedContent(length);
      const options = signedOptions(length, { blockChunks });
      const head = await encodeObject(options, content);
      const name = `signed, content of ${length} bytes, blocks of ${blockChunks}`;
      const attacks = length === 0 ? [12] : [85];
      vectors.push(
        await accepted(name, head, options.metadata, content, { content, attacks, reader: { path: options.path } }),
      );
    }
  }
  return vectors;
}

/** The chunk counter needs two bytes. */
async function manyChunks(): Promise<ObjectVector[]> {
  const vectors: ObjectVector[] = [];
  for (const [blockChunks, chunks] of [
    [4, 257],
    [256, 257],
    [1024, 257],
    [64, 256],
  ] as const) {
    const name = `encrypted, ${chunks} chunks, blocks of ${blockChunks}`;
    const options = await encryptedOptions(name, chunks * CHUNK_LENGTH - 5000, { blockChunks });
    const { object, content } = await sparseObject(options);
    vectors.push(await accepted(name, object, options.metadata, content, { attacks: [13] }));
  }
  return vectors;
}

async function metadataOfAllKinds(): Promise<ObjectVector[]> {
  const contentLength = TEXT.length;
  const everyHeader = {
    'cache-control': 'max-age=600, immutable',
    'content-disposition': 'attachment; filename="news.html"',
    'content-language': 'en, fr',
    'content-security-policy': "default-src 'self'",
    link: '</style.css>; rel=preload; as=style',
    'permissions-policy': 'geolocation=()',
    'referrer-policy': 'no-referrer',
  };
  const kinds: Record<string, Metadata> = {
    'content coding gzip': { contentCoding: 'gzip', contentLength, mediaType: 'text/html' },
    'content coding br': { contentCoding: 'br', contentLength, mediaType: 'text/html' },
    'every member': {
      contentCoding: 'br',
      contentLength,
      headers: everyHeader,
      lastModified: NOW,
      mediaType: 'text/html;charset=utf-8',
    },
    'a lifetime of 0': { contentLength, headers: { 'cache-control': 'max-age=0' }, mediaType: 'a/b' },
    'a lifetime of nine digits': { contentLength, headers: { 'cache-control': 'max-age=999999999' }, mediaType: 'a/b' },
    'headers without members': { contentLength, headers: {}, lastModified: 0, mediaType: 'a/b' },
    'a long media type': { contentLength, mediaType: `application/x ; ${'y'.repeat(239)}` },
    'a header value of 4,096 characters': { contentLength, headers: { link: 'z'.repeat(4096) }, mediaType: 'a/b' },
    'metadata of 16,000 bytes': JSON.parse(metadataOfLength(16_000, contentLength)),
  };
  const vectors: ObjectVector[] = [];
  for (const [kind, metadata] of Object.entries(kinds)) {
    vectors.push(await accepted(`encrypted, ${kind}`, await smallObject(kind, { metadata }), metadata, TEXT));
    const { contentCoding, ...signed } = metadata;
    if (contentCoding !== undefined) continue;
    vectors.push(
      await accepted(`signed, ${kind}`, await smallHead({ metadata: signed }), signed, TEXT, { content: TEXT }),
    );
  }
  return vectors;
}

async function pathsAndKeys(): Promise<ObjectVector[]> {
  const metadata = { contentLength: TEXT.length, mediaType: 'text/html; charset=utf-8' };
  const vectors: ObjectVector[] = [];
  for (const path of [
    '/index.html',
    '/2026/Übersicht heute/ñandú 100%.html',
    '/日本/写真.html',
    '/😀?#.html',
    `/${'a'.repeat(2047)}`,
  ]) {
    const name = `encrypted, at ${path.slice(0, 40)}`;
    vectors.push(await accepted(name, await smallObject(name, { path }), metadata, TEXT, { reader: { path } }));
  }
  const padded = await smallObject('padding', { paddingLength: 1000 });
  vectors.push(await accepted('encrypted, with padding', padded, metadata, TEXT));
  const international = await smallObject('site', { site: 'xn--bcher-kva.example' });
  vectors.push(
    await accepted('encrypted, international site', international, metadata, TEXT, {
      reader: { site: 'xn--bcher-kva.example' },
    }),
  );
  const other = await smallObject('other set', { set: otherSetKey });
  const keys = [
    ...READER.keys,
    { id: otherSetKey.id, key: btoa(String.fromCharCode(...otherSetKey.key)), notBefore: NOW, notAfter: NOW },
  ];
  vectors.push(
    await accepted('encrypted, second set, key valid at this second only', other, metadata, TEXT, { reader: { keys } }),
  );
  const inner = await smallObject('inner object');
  const options = await encryptedOptions('outer object', inner.length, {
    metadata: { contentLength: inner.length, mediaType: 'application/cache-protected' },
  });
  const outer = await encodeObject(options, inner);
  vectors.push(
    await accepted('a protected object inside a protected object stays one', outer, options.metadata, inner, {
      attacks: [26],
    }),
  );
  const unused = await encodeObject(
    await encryptedOptions('set key', TEXT.length, { set: setKey, blockChunks: 1024 }),
    TEXT,
  );
  vectors.push(await accepted('encrypted, one short block of 1,024 chunks', unused, metadata, TEXT));
  return vectors;
}

async function carriers(): Promise<ObjectVector[]> {
  const metadata = { contentLength: TEXT.length, mediaType: 'text/html; charset=utf-8' };
  const fallback = new TextEncoder().encode('<!doctype html><title>Read this with a Reader</title>\n');
  const vectors: ObjectVector[] = [];
  const lineEnds = new Set<number>();
  // Last lines of 57 bytes, and with no, one and two characters of padding.
  for (let padding = 0; lineEnds.size < 4; padding++) {
    const object = await smallObject('carrier', { paddingLength: padding });
    const rest = object.length % 57;
    const kind = rest === 0 ? 3 : rest % 3;
    if (lineEnds.has(kind)) continue;
    lineEnds.add(kind);
    const name = `carrier, HTML, ${rest === 0 ? 'last line full' : `last line ends ${['whole', 'with two bytes missing', 'with one byte missing'][kind]}`}`;
    vectors.push(await accepted(name, encodeHtmlCarrier(object, fallback), metadata, TEXT));
  }
  const head = encodeHtmlCarrier(
    await smallHead({ metadata: { contentLength: TEXT.length, mediaType: 'text/css' } }),
    fallback,
  );
  const signed = { contentLength: TEXT.length, mediaType: 'text/css' };
  vectors.push(await accepted('carrier, HTML, of a signed document', head, signed, TEXT, { content: TEXT }));
  const options = await encryptedOptions('carrier of blocks', 40_000, { blockChunks: 1 });
  const big = await sparseObject(options);
  vectors.push(
    await accepted(
      'carrier, HTML, several blocks',
      encodeHtmlCarrier(big.object, fallback),
      options.metadata,
      big.content,
    ),
  );
  const page = encodeHtmlCarrier(await smallObject('nothing behind'), new Uint8Array(0));
  vectors.push(await accepted('carrier, HTML, without a fallback page', page, metadata, TEXT));
  return vectors;
}
