import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, collect, streamOf } from '../../core/encoding/byte-reader.ts';

const LONG = 150_000;

/** A stream whose chunks are single bytes, as a content host can make one. */
async function* byteByByte(length: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < length; index++) yield Uint8Array.of(index & 0xff);
}

describe('ByteReader', () => {
  it.each([
    ['read', (bytes: AsyncIterable<Uint8Array>) => new ByteReader(bytes).read(LONG)],
    ['readUpTo', (bytes: AsyncIterable<Uint8Array>) => new ByteReader(bytes).readUpTo(LONG)],
    ['collect', collect],
  ])('%s takes more tiny chunks than a function takes arguments', async (_, take) => {
    const bytes = await take(byteByByte(LONG));
    expect(bytes?.length).toBe(LONG);
    expect(bytes?.[LONG - 1]).toBe((LONG - 1) & 0xff);
  });

  it('gives the bytes of the stream in their order, in whatever pieces they come and are read', async () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 5 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(chunks, fc.array(fc.nat(8)), async (parts, lengths) => {
        const whole = Buffer.concat(parts);
        const reader = new ByteReader(streamOf(...parts));
        let offset = 0;
        for (const length of lengths) {
          const piece = await reader.read(length);
          if (offset + length > whole.length) {
            expect(piece).toBeUndefined();
            return;
          }
          expect(Buffer.from(piece ?? [])).toEqual(whole.subarray(offset, offset + length));
          offset += length;
        }
        expect(await reader.atEnd()).toBe(offset === whole.length);
        expect(Buffer.from(await collect(reader.remaining()))).toEqual(whole.subarray(offset));
      }),
    );
  });

  it('looks no further for a delimiter than it may', async () => {
    const line = (text: string) => new ByteReader(streamOf(...[...text].map((character) => Buffer.from(character))));
    expect(Buffer.from((await line('abc\nd').readThrough(10, 4)) ?? []).toString()).toBe('abc\n');
    expect(await line('abc\nd').readThrough(10, 3)).toBeUndefined();
    expect(await line('abc').readThrough(10, 9)).toBeUndefined();
  });

  const LENGTHS = [5, 4, 6, 9_000, 3, 2];

  /** A source that takes the memory of what is spent, so that what is read later has to be there all the same. */
  function greedy() {
    const chunks = LENGTHS.map((length, index) => Buffer.from(new Uint8Array(length).fill(index + 1).buffer));
    const spent: number[] = [];
    const spend = (chunk: Uint8Array<ArrayBuffer>) => {
      spent.push((chunks as Uint8Array[]).indexOf(chunk) + 1);
      structuredClone(chunk.buffer, { transfer: [chunk.buffer] });
    };
    return { spent, reader: new ByteReader(Object.assign(streamOf(...chunks), { spend })) };
  }

  it('reports a chunk as unused once all of it was copied', async () => {
    const { spent, reader } = greedy();
    expect(await reader.readInto(new Uint8Array(3))).toBe(true);
    expect(spent).toEqual([]);
    expect(await reader.read(4)).toEqual(Uint8Array.of(1, 1, 2, 2)); // a copy, out of two chunks
    expect(spent).toEqual([1]);
    const small = await reader.read(1); // a copy, so that it does not keep the rest of the second chunk
    expect(await reader.readInto(new Uint8Array(4))).toBe(true);
    expect([small, spent]).toEqual([Uint8Array.of(2), [1, 2]]);
    expect(await reader.readThrough(4, 9)).toEqual(Uint8Array.of(3, 3, 3, 4));
    expect(spent).toEqual([1, 2]);
  });

  it('never says it of a chunk that a large part of was handed out, or the last', async () => {
    const { spent, reader } = greedy();
    const last = await reader.readUpTo(15);
    const large = await reader.read(5_000);
    await reader.readInto(new Uint8Array(4_000));
    expect([large?.length, large?.at(-1)]).toEqual([5_000, 4]);
    expect([last.length, last.at(-1), spent]).toEqual([15, 3, []]);
    expect(await collect(reader.remaining())).toEqual(Uint8Array.of(5, 5, 5, 6, 6));
    expect(spent).toEqual([]);
  });
});
