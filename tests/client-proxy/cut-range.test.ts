/** A range that is cut out of a whole document, whose length is not known until it is there. */
import { expect, it } from 'vitest';
import type { FetchedDocument } from '../../client-proxy/index.ts';
import { LIMITS } from '../../client-proxy/limits.ts';
import { cutRange } from '../../client-proxy/offline/cut-range.ts';

let ended: boolean;
async function* pieces(...lengths: number[]) {
  ended = false;
  try {
    for (const length of lengths) yield new Uint8Array(length);
  } finally {
    ended = true;
  }
}
const whole = (content: AsyncIterable<Uint8Array>): FetchedDocument => ({
  address: 'http://news.example/a.html',
  status: 200,
  statusMessage: 'OK',
  headers: {},
  rawHeaders: [],
  content,
});

it.each([
  ['an empty document', []],
  ['one that ends where the range begins', [3, 2]],
])('of %s is refused', async (_, lengths) => {
  const start = lengths.reduce((sum, length) => sum + length, 0);
  await expect(cutRange(whole(pieces(...lengths)), { start, end: undefined })).rejects.toMatchObject({
    code: 'condition-unmet',
  });
});

it('whose reader leaves at its beginning ends what is still coming', async () => {
  const { content } = await cutRange(whole(pieces(10, LIMITS.rangeLookAhead, 10)), { start: 0, end: undefined });
  for await (const piece of content) {
    expect([piece.length, ended]).toEqual([10, false]);
    break;
  }
  expect(ended).toBe(true);
});
