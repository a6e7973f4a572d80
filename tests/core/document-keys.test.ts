/** The sealed message of the in-browser reader: docs/spec/web-reader.md, steps V2 to V4. */
import { describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { canonicalJson, type Json } from '../../core/encoding/canonical-json.ts';
import { type DocumentKeys, openDocumentKeys, sealDocumentKeys } from '../../core/keys/document-keys.ts';
import { hpkeSeal } from '../../core/keys/hpke.ts';
import { x25519KeyPair, x25519PublicKey } from '../../core/primitives/webcrypto-x25519.ts';

const ORIGIN = 'https://pages.news.example';
const REFUSED = { code: 'hand-over-refused' };

const pair = await x25519KeyPair(false);
const publicKey = await x25519PublicKey(pair);
const key = randomBytes(32);
const id = await keyIdOf('set', key);
const entry = { id, notAfter: 2000, notBefore: 1000 };
const MESSAGE: DocumentKeys = {
  keys: [{ ...entry, key }],
  pair: { snapshot: 7, timestamp: 1234 },
  refused: [{ id: toBase64url(randomBytes(32)), reason: 'lapsed' }],
  time: 1500,
};

/** Seals any plain text as the vault would. */
async function sealPlain(plain: Uint8Array): Promise<Uint8Array> {
  const sealed = await hpkeSeal(publicKey, utf8(`wispr/1 keys for documents\n${ORIGIN}`), plain);
  if (!sealed) throw new Error('not sealed');
  return sealed;
}

const open = (sealed: Uint8Array) => openDocumentKeys(pair, ORIGIN, sealed);

describe('the sealed message', () => {
  it('opens to what was sealed, with and without a pair', async () => {
    expect(await open(await sealDocumentKeys(publicKey, ORIGIN, MESSAGE))).toEqual(MESSAGE);
    const { pair: _, ...without } = MESSAGE;
    expect(await open(await sealDocumentKeys(publicKey, ORIGIN, without))).toEqual({ ...without, pair: undefined });
    const titled = { ...MESSAGE, keys: [{ ...entry, key, title: 'Monday' }] };
    expect(await open(await sealDocumentKeys(publicKey, ORIGIN, titled))).toEqual(titled);
  });

  it('goes without titles where they do not fit', async () => {
    const keys = Array.from({ length: 256 }, () => randomBytes(32));
    const title = '\u{2f800}'.repeat(50).padEnd(100, '日'.repeat(50));
    const titled = { ...MESSAGE, keys: [] as (typeof MESSAGE.keys)[number][] };
    for (const each of keys)
      titled.keys.push({ ...entry, id: await keyIdOf('set', each), key: each, title: title + title });
    const { keys: opened } = await open(await sealDocumentKeys(publicKey, ORIGIN, titled));
    expect([opened.length, opened.some((each) => each.title !== undefined)]).toEqual([256, false]);
  });

  it('is not for another origin, nor sealed to what is no key', async () => {
    const sealed = await sealDocumentKeys(publicKey, 'https://other.example', MESSAGE);
    await expect(open(sealed)).rejects.toMatchObject(REFUSED);
    await expect(sealDocumentKeys(new Uint8Array(32), ORIGIN, MESSAGE)).rejects.toMatchObject(REFUSED);
    await expect(sealDocumentKeys(publicKey.subarray(1), ORIGIN, MESSAGE)).rejects.toMatchObject(REFUSED);
  });

  const listed = { ...entry, key: toBase64url(key) };
  const good = { keys: [listed], refused: [], time: 1500 };

  it('is taken as canonical JSON', async () => {
    expect((await open(await sealPlain(canonicalJson(good)))).keys).toHaveLength(1);
  });

  it.each<[string, Json]>([
    ['no object', []],
    ['no keys', { refused: [], time: 1 }],
    ['a further member', { ...good, more: 1 }],
    ['keys that are no list', { ...good, keys: 'all' }],
    ['a key twice', { ...good, keys: [listed, listed] }],
    ['257 keys', { ...good, keys: Array<Json>(257).fill(listed) }],
    ['a key without validity', { ...good, keys: [{ id, key: listed.key, notAfter: 1 }] }],
    ['a title that is too long', { ...good, keys: [{ ...listed, title: 'a'.repeat(101) }] }],
    ['a key that is too short', { ...good, keys: [{ ...listed, key: toBase64url(key.subarray(1)) }] }],
    ['a key with the id of another', { ...good, keys: [{ ...listed, id: toBase64url(randomBytes(32)) }] }],
    ['another key under the id', { ...good, keys: [{ ...listed, key: toBase64url(randomBytes(32)) }] }],
    ['a reason that there is not', { ...good, refused: [{ id, reason: 'whim' }] }],
    ['half a pair', { ...good, pair: { snapshot: 1 } }],
    ['a time in words', { ...good, time: 'now' }],
  ])('attack 43: with %s is refused as a whole', async (_, message) => {
    await expect(open(await sealPlain(canonicalJson(message)))).rejects.toMatchObject(REFUSED);
  });

  it('in another spelling, or too long, is refused', async () => {
    const text = new TextDecoder().decode(canonicalJson(good));
    await expect(open(await sealPlain(utf8(text.replace('{', '{ '))))).rejects.toMatchObject(REFUSED);
    const long = { ...good, keys: [], refused: Array<Json>(2000).fill({ id, reason: 'not-entitled' }) };
    await expect(open(await sealPlain(canonicalJson(long)))).rejects.toMatchObject(REFUSED);
  });
});
