/** Properties of every protected object, tried on many. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { ByteReader, collect, streamOf } from '../../core/encoding/byte-reader.ts';
import { readU32 } from '../../core/encoding/bytes.ts';
import { encodeHtmlCarrier, openCarrier } from '../../core/object/carrier.ts';
import type { OpenedDocument } from '../../core/object/document-reader.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { chooseBlockChunks } from '../../core/object/geometry.ts';
import { openDocument } from '../../core/object/open-document.ts';
import { encodeObject, type ObjectOptions } from '../../core/object/writer.ts';
import { key, publisher, set } from '../support/own-objects.ts';
import { IS_RELEASE, runs } from '../support/tier.ts';

const EXPECTED = { site: 'news.example', path: '/a/é b.html' };

/** Bits from one that is flipped to the next: in `npm test` one of each byte, and another one of the next byte. */
const STEP = IS_RELEASE ? 1 : 7;

interface Shape {
  readonly size: number;
  readonly blockChunks: number;
  readonly paddingLength: number;
  readonly coding: 'br' | 'gzip' | undefined;
  readonly encrypted: boolean;
}

const size = fc.oneof(fc.nat(100), fc.nat(200_000), fc.constantFrom(16_383, 16_384, 16_385, 32_768, 65_536, 131_072));
const shape: fc.Arbitrary<Shape> = fc.record({
  size,
  blockChunks: fc.integer({ min: 1, max: 5 }),
  paddingLength: fc.oneof(fc.constant(0), fc.nat(40_000)),
  coding: fc.constantFrom(undefined, 'br', 'gzip'),
  encrypted: fc.boolean(),
});

interface Served {
  /** The object; the head of a signed document. */
  readonly object: Uint8Array;
  readonly content: Uint8Array;
}

async function make({ size, blockChunks, paddingLength, coding, encrypted }: Shape): Promise<Served> {
  const content = randomBytes(size);
  const metadata = {
    contentLength: size,
    mediaType: 'text/html',
    ...(encrypted && coding && { contentCoding: coding }),
  };
  const options: ObjectOptions = { ...EXPECTED, publisher, metadata, blockChunks };
  return { object: await encodeObject(encrypted ? { ...options, set, paddingLength } : options, content), content };
}

function open({ object, content }: Served): Promise<OpenedDocument> {
  return openDocument(
    openCarrier(streamOf(object)),
    { ...EXPECTED, publisherKey: publisher.publicKey },
    { findKey: async () => ({ key, notBefore: 0, notAfter: 10 }), now: 5 },
    async () => streamOf(content),
  );
}

/** Returns what comes out, and whether it ended well. Fails on any error that is not an ObjectError. */
async function readAll(served: Served): Promise<{ released: Uint8Array; complete: boolean }> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of (await open(served)).content) pieces.push(piece);
    return { released: Buffer.concat(pieces), complete: true };
  } catch (error) {
    expect(error).toBeInstanceOf(ObjectError);
    return { released: Buffer.concat(pieces), complete: false };
  }
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

/** Expects altered bytes to be refused, and what came out before to be the beginning of the content. */
async function expectRefused(altered: Served, content: Uint8Array): Promise<void> {
  const { released, complete } = await readAll(altered);
  expect(complete).toBe(false);
  expect(same(released, content.subarray(0, released.length))).toBe(true);
}

function flip(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}

describe('a protected object', () => {
  it('gives its content back, at every size, block size, padding and coding', async () => {
    await fc.assert(
      fc.asyncProperty(shape, async (each) => {
        const served = await make(each);
        expect(same(await collect((await open(served)).content), served.content)).toBe(true);
      }),
      { numRuns: runs(30) },
    );
  });

  it('gives the same through the HTML carrier', async () => {
    await fc.assert(
      fc.asyncProperty(shape, fc.uint8Array({ maxLength: 50 }), async (each, page) => {
        const served = await make({ ...each, size: each.size % 50_000, paddingLength: each.paddingLength % 5000 });
        const carried = { ...served, object: encodeHtmlCarrier(served.object, page) };
        expect(same(await collect((await open(carried)).content), served.content)).toBe(true);
      }),
      { numRuns: runs(15) },
    );
  });

  it('gives any range of its content, from the bytes that payloadRange names', async () => {
    await fc.assert(
      fc.asyncProperty(shape, fc.nat(), fc.nat(), async (each, from, length) => {
        const served = await make(each);
        const { reader, content } = await open(served);
        await content.return(undefined);
        const start = from % (each.size + 1);
        const end = start + (length % (each.size + 100)); // may lie behind the end: padding must not come out
        const payload = each.encrypted ? payloadOf(served.object) : served.content;
        const { start: first, end: last } = reader.payloadRange({ start, end });
        const source = new ByteReader(streamOf(payload.subarray(first, last)));
        const range = await collect(reader.contentRange({ start, end }, source));
        expect(same(range, served.content.subarray(start, end))).toBe(true);
      }),
      { numRuns: runs(30) },
    );
  });

  it.each([true, false])('attack 6: no bit of a small object can be flipped, encrypted: %s', async (encrypted) => {
    const small = await make({ size: 40, blockChunks: 1, paddingLength: 0, coding: undefined, encrypted });
    for (let bit = 0; bit < small.object.length * 8; bit += STEP) {
      await expectRefused({ ...small, object: flip(small.object, bit) }, small.content);
    }
    if (encrypted) return;
    for (let bit = 0; bit < small.content.length * 8; bit += STEP) {
      await expectRefused({ ...small, content: flip(small.content, bit) }, small.content);
    }
  });

  it('attack 8: a flipped bit anywhere is refused, and no wrong byte comes out', async () => {
    await fc.assert(
      fc.asyncProperty(shape, fc.nat(), async (each, position) => {
        const served = await make(each);
        const inContent = !each.encrypted && each.size > 0 && position % 2 === 0;
        const altered = inContent
          ? { ...served, content: flip(served.content, position % (served.content.length * 8)) }
          : { ...served, object: flip(served.object, position % (served.object.length * 8)) };
        await expectRefused(altered, served.content);
      }),
      { numRuns: runs(60) },
    );
  });

  it('attack 10: an object cut anywhere is refused, and attack 11: so is one that goes on', async () => {
    await fc.assert(
      fc.asyncProperty(
        shape,
        fc.nat(),
        fc.uint8Array({ minLength: 1, maxLength: 40 }),
        async (each, position, more) => {
          const served = await make(each);
          const cut = served.object.subarray(0, position % served.object.length);
          await expectRefused({ ...served, object: cut }, served.content);
          await expectRefused({ ...served, object: Buffer.concat([served.object, more]) }, served.content);
          if (each.encrypted) return;
          await expectRefused({ ...served, content: Buffer.concat([served.content, more]) }, served.content);
        },
      ),
      { numRuns: runs(30) },
    );
  });

  it('attack 14: blocks in another order, or out of another object, are refused', async () => {
    const each: Shape = { size: 70_000, blockChunks: 1, paddingLength: 0, coding: undefined, encrypted: true };
    const [one, other] = [await make(each), await make(each)];
    const blocks = [...blocksOf(one), ...blocksOf(other)];
    const own = [0, 1, 2, 3, 4];
    const order = fc.array(fc.nat(blocks.length - 1), { minLength: 5, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(order, async (indexes) => {
        fc.pre(indexes.some((index, position) => index !== own[position]));
        const payload = Buffer.concat(indexes.map((index) => blocks[index] ?? new Uint8Array(0)));
        const head = one.object.subarray(0, one.object.length - payloadOf(one.object).length);
        await expectRefused({ ...one, object: Buffer.concat([head, payload]) }, one.content);
      }),
      { numRuns: runs(50) },
    );
  });

  it('attack 15: any bytes are refused with a code', async () => {
    const start = fc.constantFrom(
      '',
      'wispr/1\n',
      'wispr/1\n\u0000\u0000\u0000\u0002{}',
      '<!-- wispr/1\n',
      '<!-- wispr/1\nAAAA\n',
    );
    await fc.assert(
      fc.asyncProperty(start, fc.uint8Array({ maxLength: 300 }), async (first, rest) => {
        const object = Buffer.concat([Buffer.from(first), rest]);
        expect((await readAll({ object, content: new Uint8Array(0) })).complete).toBe(false);
      }),
      { numRuns: runs(150) },
    );
  });
});

it('the writer chooses the block sizes that the specification names', () => {
  const [MiB, GiB] = [2 ** 20, 2 ** 30];
  const lengths = [0, 16 * MiB - 1, 16 * MiB, 256 * MiB - 1, 256 * MiB, 16 * GiB - 1, 16 * GiB];
  expect(lengths.map(chooseBlockChunks)).toEqual([4, 4, 16, 16, 64, 64, 1024]);
});

/** The blocks of an encrypted object whose blocks are single chunks. */
function blocksOf({ object }: Served): Uint8Array[] {
  const payload = payloadOf(object);
  const starts = [0, ...Array.from({ length: 4 }, (_, index) => 56 + (index + 1) * 16_400), payload.length];
  return starts.slice(0, -1).map((start, index) => payload.subarray(start, starts[index + 1]));
}

/** The payload of an encrypted object: the header has its length. */
function payloadOf(object: Uint8Array): Uint8Array {
  const header = new TextDecoder().decode(object.subarray(12, 12 + readU32(object, 8)));
  return object.subarray(-JSON.parse(header).payloadLength);
}
