/** What a content host serves, opened as every door opens it: rows 21 and 26 of the attack list. */
import { describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { collect, streamOf } from '../../core/encoding/byte-reader.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { type KeyId, keyIdOf } from '../../core/keys/key-id.ts';
import { encodeHtmlCarrier } from '../../core/object/carrier.ts';
import { encodeObject, publisherIdentity } from '../../core/object/writer.ts';
import { openAt } from '../../core/reading/open-at.ts';

const publisher = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
const expected = { site: 'news.example', path: '/a.html', publisherKey: publisher.publicKey };
const FALLBACK = utf8('<p>fallback</p>');

async function createSet() {
  const key = randomBytes(32);
  return { id: await keyIdOf('set', key), key };
}
const [cheap, dear] = [await createSet(), await createSet()];

function encode(set: { readonly id: KeyId; readonly key: Uint8Array }): Promise<Uint8Array> {
  const content = utf8('for subscribers only');
  const metadata = { contentLength: content.length, mediaType: 'text/plain' };
  return encodeObject({ site: 'news.example', path: '/a.html', publisher, metadata, set }, content);
}

/** Opens what a host has at these URL paths, with one key at hand, under whatever name. */
async function read(files: Record<string, Uint8Array>, key: Uint8Array): Promise<string> {
  const opened = await openAt(
    async (path) => ({ status: files[path] ? 200 : 404, body: streamOf(files[path] ?? new Uint8Array(0)) }),
    expected,
    { findKey: async () => ({ key, notBefore: 0, notAfter: 10 }), now: 5 },
  );
  return Buffer.from(await collect(opened.content)).toString();
}

describe('attack 21: an object moved between sets', () => {
  it('is refused where it names one set, and the key at hand is that of another', async () => {
    const sound = await encode(dear);
    expect(await read({ '/a.html.protected': sound }, dear.key)).toBe('for subscribers only');
    // Encrypted with the one key, named by the other's id: the key opens it, but is not the one that is named.
    const moved = await encode({ id: cheap.id, key: dear.key });
    await expect(read({ '/a.html.protected': moved }, dear.key)).rejects.toMatchObject({ code: 'key-id-mismatch' });
    await expect(read({ '/a.html.protected': moved }, cheap.key)).rejects.toMatchObject({ code: 'commitment' });
  });
});

describe('attack 26: an HTML carrier inside an HTML carrier', () => {
  it.each(['/a.html', '/a.html.protected'])('at %s is not unwrapped twice', async (path) => {
    const once = encodeHtmlCarrier(await encode(dear), FALLBACK);
    expect(await read({ [path]: once }, dear.key)).toBe('for subscribers only');
    const twice = encodeHtmlCarrier(once, FALLBACK);
    await expect(read({ [path]: twice }, dear.key)).rejects.toMatchObject({ code: 'object-unrecognised' });
  });
});
