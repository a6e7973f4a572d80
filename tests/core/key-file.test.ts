/** Key files of invitations: docs/spec/web-reader.md, "Key files". */
import { describe, expect, it } from 'vitest';
import { hmacSha512, randomBytes } from '#primitives';
import { sealMessage } from '../../core/crypto/chunked-encryption.ts';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { padMessage } from '../../core/crypto/padded-message.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { concat, lengthPrefixed, utf8 } from '../../core/encoding/bytes.ts';
import { canonicalJson, type JsonObject } from '../../core/encoding/canonical-json.ts';
import type { DocumentKey } from '../../core/keys/document-keys.ts';
import {
  encodeKeyFile,
  isLikeKeyFile,
  keyFileAddressOf,
  MAXIMUM_KEYS_PER_FILE,
  openKeyFile,
} from '../../core/keys/key-file.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';

const CONTEXT = { root: toBase64url(new Uint8Array(32)), site: 'news.example' };
const secret = randomBytes(16);
const { key, name } = await keyFileAddressOf(secret, CONTEXT);
const REFUSED = { code: 'key-file-malformed' };

async function someKeys(count: number): Promise<DocumentKey[]> {
  const made = Array.from({ length: count }, () => randomBytes(32));
  return Promise.all(
    made.map(async (each) => ({ id: await keyIdOf('set', each), key: each, notBefore: 1, notAfter: 2 })),
  );
}

const encode = (keys: readonly DocumentKey[]) => encodeKeyFile({ keys, refused: [], time: 5 }, key, CONTEXT);

/** A file that holds whatever the publisher's program never writes. */
async function sealed(json: Uint8Array): Promise<Uint8Array> {
  const context = lengthPrefixed(utf8('wispr/1 key file'), utf8(CONTEXT.root), utf8(CONTEXT.site));
  return concat(utf8('wispr-keyfile/1\n'), await sealMessage(key, context, padMessage(json, 4096)));
}
const member = ({ id, key: bytes, title: _, ...rest }: DocumentKey): JsonObject => ({
  id,
  key: toBase64url(bytes),
  ...rest,
});

describe('a key file', () => {
  it.each([0, 1, 100, MAXIMUM_KEYS_PER_FILE])('brings %i keys, by a handle as by the key itself', async (count) => {
    const keys = await someKeys(count);
    const file = await encode(keys);
    expect(isLikeKeyFile(file)).toBe(true);
    expect(await openKeyFile(file, key, CONTEXT)).toEqual({ keys, refused: [], time: 5 });
    expect((await openKeyFile(file, (data) => hmacSha512(key, data), CONTEXT)).keys).toEqual(keys);
  });

  it('has one length for a few keys, and never the same bytes', async () => {
    const [none, few] = [await encode([]), await encode(await someKeys(20))];
    expect(few.length).toBe(none.length);
    expect(await encode([])).not.toEqual(none);
  });

  it('is not made for more keys than readers take', async () => {
    await expect(encode(await someKeys(MAXIMUM_KEYS_PER_FILE + 1))).rejects.toMatchObject(REFUSED);
  });

  it('is refused where any part of it is other, missing or more', async () => {
    const file = await encode(await someKeys(3));
    for (let at = 0; at < file.length; at += 61)
      await expect(openKeyFile(file.with(at, (file[at] ?? 0) ^ 1), key, CONTEXT)).rejects.toMatchObject(REFUSED);
    for (let length = 0; length < file.length; length += 97)
      await expect(openKeyFile(file.subarray(0, length), key, CONTEXT)).rejects.toMatchObject(REFUSED);
    await expect(openKeyFile(concat(file, new Uint8Array(1)), key, CONTEXT)).rejects.toMatchObject(REFUSED);
  });

  it('attack 72: is refused for another site, publisher or invitation', async () => {
    const file = await encode(await someKeys(3));
    const others = [
      { ...CONTEXT, site: 'other.example' },
      { ...CONTEXT, root: toBase64url(randomBytes(32)) },
    ];
    for (const other of others) {
      await expect(openKeyFile(file, key, other)).rejects.toMatchObject(REFUSED);
      const place = await keyFileAddressOf(secret, other);
      expect(place.name).not.toBe(name);
      await expect(openKeyFile(file, place.key, CONTEXT)).rejects.toMatchObject(REFUSED);
    }
    await expect(openKeyFile(file, randomBytes(32), CONTEXT)).rejects.toMatchObject(REFUSED);
  });

  it('is refused unopened where it is too long', async () => {
    const file = new Uint8Array(MESSAGE_LIMITS.keyFile + 1);
    file.set(utf8('wispr-keyfile/1\n'));
    const unasked = () => Promise.reject(new Error('nothing is derived for it'));
    await expect(openKeyFile(file, unasked, CONTEXT)).rejects.toMatchObject(REFUSED);
  });

  it('attack 43: is refused where its content is invalid, even if it opens with the right key', async () => {
    const [one, two] = (await someKeys(2)).map(member) as [JsonObject, JsonObject];
    const many = Array.from({ length: MAXIMUM_KEYS_PER_FILE + 1 }, (_, index) => {
      return { ...one, id: toBase64url(new Uint8Array(32).fill(index % 256).with(0, index >> 8)) };
    });
    const message = { keys: [one, two], refused: [], time: 5 };
    expect((await openKeyFile(await sealed(canonicalJson(message)), key, CONTEXT)).keys).toHaveLength(2);
    const wrong: JsonObject[] = [
      { ...message, more: 1 },
      { ...message, keys: [one, one] },
      { ...message, keys: [{ ...one, key: two.key ?? '' }] },
      { ...message, keys: [{ ...one, notAfter: '2' }] },
      { ...message, keys: many },
      { keys: [], refused: [] },
    ];
    for (const each of wrong)
      await expect(openKeyFile(await sealed(canonicalJson(each)), key, CONTEXT)).rejects.toMatchObject(REFUSED);
    const spaced = utf8(JSON.stringify(message, null, 1));
    await expect(openKeyFile(await sealed(spaced), key, CONTEXT)).rejects.toMatchObject(REFUSED);
  });
});
