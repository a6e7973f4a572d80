/** Objects of a content host, opened as every door opens them: rows 21, 26 and 92 of the attack list. */
import { describe, expect, it } from 'vitest';
import { sha256 } from '#primitives';
import { ByteReader, collect, streamOf } from '../../core/encoding/byte-reader.ts';
import { concat, utf8 } from '../../core/encoding/bytes.ts';
import { toHex } from '../../core/encoding/hex.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import { encodeHtmlCarrier } from '../../core/object/carrier.ts';
import { readUnverifiedHead } from '../../core/object/read-head.ts';
import { encodeObject } from '../../core/object/writer.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { openAt } from '../../reading/open-at.ts';
import { publisher } from '../support/own-objects.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';

const FALLBACK = utf8('<p>fallback</p>');
const TEXT = 'for subscribers only';

const [cheap, dear] = [await createSetKey(), await createSetKey()];

function encode(set: NamedKey | undefined, path = '/a.html', text = TEXT): Promise<Uint8Array> {
  const metadata = { contentLength: text.length, mediaType: 'text/plain' };
  return encodeObject({ site: 'news.example', path, publisher, metadata, ...(set && { set }) }, utf8(text));
}

const hashOf = async (bytes: Uint8Array) => toHex(await sha256(bytes));

/** Makes the entry of an object in a publication. */
async function entryOf(object: Uint8Array, wish: Partial<DocumentEntry> = {}): Promise<DocumentEntry> {
  const head = await readUnverifiedHead(new ByteReader(streamOf(object)));
  const { set } = head.header as { set?: string };
  const hash = await hashOf(object.subarray(0, head.length));
  return { head: hash, headLength: head.length, set, content: undefined, inPage: false, ...wish };
}

/** Opens what a host has at these URL paths, with one key at hand, under whatever name. */
async function read(entry: DocumentEntry, files: Record<string, Uint8Array>, key = dear.key): Promise<string> {
  const opened = await openAt(
    async (path) => ({ status: files[path] ? 200 : 404, body: streamOf(files[path] ?? new Uint8Array(0)) }),
    { site: 'news.example', path: '/a.html', publisherKey: publisher.publicKey, entry },
    { findKey: async () => ({ key, notBefore: 0, notAfter: 10 }), now: 5 },
  );
  return Buffer.from(await collect(opened.content)).toString();
}

describe('a document that the publication names', () => {
  it('is asked for by the hash of its head, and nowhere else', async () => {
    const sound = await encode(dear);
    const entry = await entryOf(sound);
    expect(await read(entry, { [`/${entry.head}.a.html.protected`]: sound })).toBe(TEXT);
    const elsewhere = { '/a.html.protected': sound, '/a.html': sound };
    await expect(read(entry, elsewhere)).rejects.toMatchObject({ code: 'object-missing' });
  });

  it('that is public has its content under the hash of the content', async () => {
    const head = await encode(undefined);
    const content = await hashOf(utf8(TEXT));
    const entry = await entryOf(head, { content });
    const files = { [`/${entry.head}.a.html.protected`]: head, [`/${content}.a.html`]: utf8(TEXT) };
    expect(await read(entry, files)).toBe(TEXT);
    await expect(read(entry, { ...files, [`/${content}.a.html`]: utf8(TEXT.toUpperCase()) })).rejects.toMatchObject({
      code: 'block-digest',
    });
    const trailing = { ...files, [`/${entry.head}.a.html.protected`]: concat(head, utf8('x')) };
    await expect(read(entry, trailing)).rejects.toMatchObject({ code: 'object-trailing' });
  });

  it('attack 92: another one, correctly signed for this very path, is refused before it is looked at', async () => {
    const [sound, older] = [await encode(dear), await encode(dear, '/a.html', 'an older version')];
    const entry = await entryOf(sound);
    const file = `/${entry.head}.a.html.protected`;
    for (const served of [older, sound.subarray(0, entry.headLength - 1), new Uint8Array(0), utf8('<h1>200 OK</h1>')])
      await expect(read(entry, { [file]: served })).rejects.toMatchObject({ code: 'head-unexpected' });
  });

  it('attack 17: needs its own signature where a section names it, and none where a bin does', async () => {
    const object = Uint8Array.from(await encode(dear));
    const { headLength } = await entryOf(object);
    object[headLength - 33] = (object[headLength - 33] ?? 0) ^ 1; // a signature's last byte, before a digest
    const entry = await entryOf(object);
    const files = { [`/${entry.head}.a.html.protected`]: object };
    await expect(read(entry, files)).rejects.toMatchObject({ code: 'signature-invalid' });
    expect(await read({ ...entry, inBin: true }, files)).toBe(TEXT);
  });

  it('is refused where what is named is more or less than a head, or no head', async () => {
    const sound = await encode(dear);
    const { headLength } = await entryOf(sound);
    for (const [length, code] of [
      [headLength + 1, 'head-unexpected'],
      [headLength - 1, 'object-truncated'],
      [0, 'object-unrecognised'],
      [2 ** 40, 'head-unexpected'],
    ] as const) {
      const head = await hashOf(sound.subarray(0, length));
      const entry = await entryOf(sound, { head, headLength: length });
      await expect(read(entry, { [`/${head}.a.html.protected`]: sound })).rejects.toMatchObject({ code });
    }
  });
});

describe('attack 21: an object moved between sets', () => {
  it('is refused where it names one set, and the key at hand is that of another', async () => {
    // Encrypted with the one key, named by the other's id: the key opens it, but is not the one that is named.
    const moved = await encode({ id: cheap.id, key: dear.key });
    const entry = await entryOf(moved);
    const files = { [`/${entry.head}.a.html.protected`]: moved };
    await expect(read(entry, files, dear.key)).rejects.toMatchObject({ code: 'key-id-mismatch' });
    await expect(read(entry, files, cheap.key)).rejects.toMatchObject({ code: 'payload-invalid' });
  });

  it('is refused where publication and object name different sets, or one of them none', async () => {
    const content = await hashOf(utf8(TEXT));
    for (const [object, wish] of [
      [await encode(dear), { set: cheap.id }],
      [await encode(dear), { set: undefined, content }],
      [await encode(undefined), { set: dear.id }],
    ] as const) {
      const entry = await entryOf(object, wish);
      const files = { [`/${entry.head}.a.html.protected`]: object, [`/${content}.a.html`]: utf8(TEXT) };
      await expect(read(entry, files)).rejects.toMatchObject({ code: 'head-unexpected' });
    }
  });
});

describe('attack 26: an HTML carrier inside an HTML carrier', () => {
  it('is not unwrapped twice, and a carrier in the place of an object not at all', async () => {
    const sound = await encode(dear);
    const once = encodeHtmlCarrier(sound, FALLBACK);
    const entry = await entryOf(sound, { inPage: true });
    expect(await read(entry, { '/a.html': once })).toBe(TEXT);
    const twice = encodeHtmlCarrier(once, FALLBACK);
    await expect(read(entry, { '/a.html': twice })).rejects.toMatchObject({ code: 'head-unexpected' });
    const file = `/${entry.head}.a.html.protected`;
    await expect(read({ ...entry, inPage: false }, { [file]: once })).rejects.toMatchObject({
      code: 'head-unexpected',
    });
  });
});
