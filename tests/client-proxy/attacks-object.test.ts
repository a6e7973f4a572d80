/**
 * Rows 1 to 14 of the attack list through the running proxy: a hostile host serves damaged objects, and no byte of them comes out. What
 * readHead() alone refuses is in tests/core/attacks.test.ts.
 */
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { concat, readU32, utf8 } from '../../core/encoding/bytes.ts';
import type { JsonObject } from '../../core/encoding/canonical-json.ts';
import { encodeHead } from '../../core/object/head.ts';
import { type EncryptedHeader, encodeHeader } from '../../core/object/header.ts';
import { forFile } from '../support/for-file.ts';
import { type Received, refusalCode, send, sendRaw } from '../support/http-client.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

const PATH = '/article.html';
const SECRET = 'for subscribers only ';
const content = Buffer.from(SECRET.repeat(12_000)); // 252,000 bytes: four blocks
const CHUNK = 16_400;
const BLOCK = 4 * CHUNK;

const rig = forFile(startHostileReaderRig);
let object: Uint8Array;
beforeAll(async () => {
  object = await rig.publisher.object(PATH, { content });
});

afterEach(async () => {
  expect((await read(object)).text).toBe(content.toString()); // the proxy lives on
});

/** What the publication names at the path. */
let named: Uint8Array | undefined;
async function name(served: Uint8Array): Promise<void> {
  if (named !== served) await rig.publisher.publishObject(rig.host.files, PATH, served);
  named = served;
}

/** Reads what is served in the place of the object that the publication names. */
async function readUnnamed(served: Uint8Array) {
  await name(object);
  const file = rig.publisher.fileOf(PATH);
  rig.host.files.set(file, served);
  const answer = await send(rig.proxy.port, rig.url(PATH));
  rig.host.files.set(file, object);
  return answer;
}

const hasSoundHead = (served: Uint8Array) =>
  Buffer.from(served.subarray(0, headLength())).equals(object.subarray(0, headLength()));

/** Reads what is served; the head is always the one that the publication names, as a publisher's mistake or a thief of its keys could have it. */
async function read(served: Uint8Array) {
  if (hasSoundHead(served)) return readUnnamed(served);
  await name(served);
  return send(rig.proxy.port, rig.url(PATH));
}

/** Nothing released, the check named, one link to the reading site. */
async function expectRefused(served: Uint8Array, code: string): Promise<void> {
  if (!hasSoundHead(served)) expectPage(await readUnnamed(served), 'head-unexpected');
  if (served.length > 0) expectPage(await read(served), code);
}

function expectPage(answer: Received, code: string): void {
  expect([answer.status, refusalCode(answer)]).toEqual([502, code]);
  expect(answer.text).not.toContain(SECRET.trim());
  expect(answer.text).toContain(code);
  const links = [...answer.text.matchAll(/(?:href|src|action)="([^"]*)"/g)].map(([, link]) => link);
  const again = code === 'object-version' ? [] : [PATH]; // what needs a newer Reader is refused again
  expect(links).toEqual([...again, `https://read.news.example${PATH}`]);
}

const changed = (offset: number, bytes = object) => {
  const copy = Uint8Array.from(bytes);
  copy[offset] = (copy[offset] ?? 0) ^ 1;
  return copy;
};
const headerLength = () => readU32(object, 8);
const headLength = () => 12 + headerLength() + 64 + 32 * 4;
const header = () => JSON.parse(Buffer.from(object.subarray(12, 12 + headerLength())).toString()) as JsonObject;
const payload = () => object.subarray(headLength());

/** A payload with honest digests and signature: only what is inside is wrong. */
async function signedPayload(fresh: Uint8Array, wish: Partial<EncryptedHeader> = {}): Promise<Uint8Array> {
  const blocks: Uint8Array[] = [fresh.subarray(0, 56 + BLOCK)];
  for (let start = 56 + BLOCK; start < fresh.length; start += BLOCK) blocks.push(fresh.subarray(start, start + BLOCK));
  const digests = concat(...(await Promise.all(blocks.map((block) => sha256(block)))));
  const whole = {
    ...header(),
    payloadLength: fresh.length,
    digestListDigest: toBase64url(await sha256(digests)),
    ...wish,
  };
  return concat(
    encodeHead(encodeHeader(whole as unknown as EncryptedHeader), digests, rig.publisher.identity.secretKey),
    fresh,
  );
}

describe('a hostile content host', () => {
  it('attack 1: an empty file', () => expectRefused(new Uint8Array(0), 'object-unrecognised'));

  it('attack 2: an unknown version', () =>
    expectRefused(concat(utf8('wispr/2\n'), object.subarray(8)), 'object-version'));

  it('attack 6: any bit of the head flipped', async () => {
    for (let offset = 0; offset < headLength(); offset += 29) {
      const answer = await readUnnamed(changed(offset));
      expect([offset, refusalCode(answer), answer.text.includes(SECRET.trim())]).toEqual([
        offset,
        'head-unexpected',
        false,
      ]);
    }
    for (let offset = 0; offset < headLength(); offset += 97) {
      const answer = await read(changed(offset));
      // A bin of the publication speaks for it in place of its own signature.
      const shown = offset >= 12 + headerLength() && offset < 12 + headerLength() + 64;
      expect([offset, answer.status, answer.text.includes(SECRET.trim())]).toEqual([offset, shown ? 200 : 502, shown]);
    }
  });

  it('attack 8: a bad digest or tag in block 1 releases nothing', async () => {
    await expectRefused(changed(headLength() + 56 + 100), 'block-digest');
    const badTag = Uint8Array.from(payload());
    badTag[56 + CHUNK - 1] = (badTag[56 + CHUNK - 1] ?? 0) ^ 1;
    await expectRefused(await signedPayload(badTag), 'payload-invalid');
  });

  it('attack 9: a bad block 2 releases block 1 only, and ends visibly incomplete', async () => {
    const badTag = Uint8Array.from(payload());
    badTag[56 + BLOCK + 3] = (badTag[56 + BLOCK + 3] ?? 0) ^ 1;
    for (const served of [changed(headLength() + 56 + BLOCK + 3), await signedPayload(badTag)]) {
      const answer = await read(served);
      expect([answer.status, answer.complete]).toEqual([200, false]);
      expect(answer.body.length).toBeGreaterThan(65_000);
      expect(answer.body.length).toBeLessThan(65_536);
      expect(content.subarray(0, answer.body.length).equals(answer.body)).toBe(true);
    }
  });

  it('attack 9: where only the connection can tell so, because a coding is undone for HTTP/1.0, it is reset', async () => {
    const metadata = { contentCoding: 'gzip' as const };
    const coded = gzipSync(randomBytes(200_000));
    const sound = await rig.publisher.object('/coded.bin', { content: coded, metadata });
    const badCoding = await rig.publisher.object('/coded.bin', {
      content: changed(coded.length - 1000, coded),
      metadata,
    });
    const ask = () => sendRaw(rig.proxy.port, `GET ${rig.url('/coded.bin')} HTTP/1.0\r\nHost: news.example\r\n\r\n`);
    await rig.publisher.publishObject(rig.host.files, '/coded.bin', sound);
    const whole = await ask(); // no length, no chunks: its end is the connection's
    expect(whole).toMatch(/^HTTP\/1\.1 200 /);
    expect(whole.toLowerCase()).not.toMatch(/content-length|transfer-encoding|content-encoding/);
    expect(whole.length).toBeGreaterThan(200_000);
    for (const served of [changed(sound.length - 1000, sound), badCoding]) {
      await rig.publisher.publishObject(rig.host.files, '/coded.bin', sound);
      if (served === badCoding) await rig.publisher.publishObject(rig.host.files, '/coded.bin', served);
      else rig.host.files.set(rig.publisher.fileOf('/coded.bin'), served);
      await expect(ask()).rejects.toMatchObject({ code: 'ECONNRESET' });
    }
  });

  it('attack 10: cut at a chunk, at a block, in the middle', async () => {
    for (const length of [
      9,
      500,
      headLength() - 1,
      headLength(),
      headLength() + 56 + CHUNK,
      headLength() + 56 + BLOCK - 1,
    ]) {
      await expectRefused(object.subarray(0, length), 'object-truncated');
    }
    for (const length of [headLength() + 56 + BLOCK, headLength() + 56 + 2 * BLOCK + CHUNK, object.length - 1]) {
      const answer = await read(object.subarray(0, length));
      expect([length, answer.complete]).toEqual([length, false]);
      expect(content.subarray(0, answer.body.length).equals(answer.body)).toBe(true);
    }
  });

  it('attack 11: bytes after the end, a second or full-size final chunk, a short middle chunk', async () => {
    const trailing = await read(concat(object, new Uint8Array(1)));
    expect(trailing.complete).toBe(false);
    const small = await rig.publisher.object(PATH, { content: SECRET });
    await expectRefused(concat(small, new Uint8Array(1)), 'object-trailing');
    const last = payload().subarray(56 + Math.floor((payload().length - 56) / CHUNK) * CHUNK);
    const twoFinal = await read(await signedPayload(concat(payload(), last)));
    expect(twoFinal.complete && twoFinal.status === 200).toBe(false);
    const fullFinal = payload().subarray(0, 56 + CHUNK);
    await expectRefused(await signedPayload(fullFinal), 'header-invalid');
    const shortMiddle = concat(payload().subarray(0, 56 + 100), payload().subarray(56 + CHUNK));
    await expectRefused(await signedPayload(shortMiddle), 'payload-invalid');
  });

  it('attack 13: a chunk counter that carries is accepted', async () => {
    const long = randomBytes(257 * 16_384);
    await rig.publisher.publish(rig.host.files, '/long.bin', { content: long });
    const answer = await send(rig.proxy.port, rig.url('/long.bin'));
    expect([answer.complete, answer.body.equals(long)]).toEqual([true, true]);
  });

  it('attack 14: chunks or blocks reordered, or spliced from another object under the same key', async () => {
    const other = await rig.publisher.object(PATH, { content: Buffer.from(SECRET.toUpperCase().repeat(12_000)) });
    const first = headLength() + 56;
    const swap = (bytes: Uint8Array, a: number, b: number, length: number) => {
      const copy = Uint8Array.from(bytes);
      copy.set(bytes.subarray(a, a + length), b);
      copy.set(bytes.subarray(b, b + length), a);
      return copy;
    };
    await expectRefused(swap(object, first, first + CHUNK, CHUNK), 'block-digest');
    await expectRefused(concat(object.subarray(0, headLength()), other.subarray(headLength())), 'block-digest');
    const blocks = await read(swap(object, first + BLOCK, first + 2 * BLOCK, BLOCK));
    expect([blocks.complete, blocks.body.length < 65_536]).toEqual([false, true]);
    await expectRefused(await signedPayload(swap(payload(), 56, 56 + CHUNK, CHUNK)), 'payload-invalid');
  });
});
