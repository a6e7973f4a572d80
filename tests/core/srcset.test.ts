import { expect, it } from 'vitest';
import { SRCSET_CANDIDATE } from '../../core/site/srcset.ts';

it.each([
  ['a.png', ['a.png']],
  ['a.png 1x, b.png 2x', ['a.png', 'b.png']],
  [' a.png , b.png 100w,c.png', ['a.png', 'b.png', 'c.png']],
  ['data:image/png;base64,AA== 1x, b.png', ['data:image/png;base64,AA==', 'b.png']],
  ['/w_100,h_200/a.jpg 100w, /w_200,h_400/a.jpg 200w', ['/w_100,h_200/a.jpg', '/w_200,h_400/a.jpg']],
  ['a.jpg,b.jpg', ['a.jpg,b.jpg']],
  ['a.png,, b.png', ['a.png', 'b.png']],
  ['a.png x(1, 2), b.png', ['a.png', 'b.png']],
  ['a.png x(1, b.png', ['a.png']],
  ['\u00a0a.png\tb\n,\fc.png', ['\u00a0a.png', 'c.png']],
  ['', []],
  [' ,,', []],
])('finds the addresses in srcset=%j, and where they begin', (srcset, urls) => {
  const found = [...srcset.matchAll(SRCSET_CANDIDATE)];
  expect(found.map(([, url]) => url)).toEqual(urls);
  for (const { 1: url = '', indices } of found) expect(srcset.startsWith(url, indices?.[1]?.[0])).toBe(true);
});

it.each([',', ' ', ', ', 'a,', 'a 1x,', '(', '()'])('is soon done with many of %j', (piece) => {
  const candidates = [...`a ${piece.repeat(500_000)}`.matchAll(SRCSET_CANDIDATE)];
  expect(candidates[0]?.[1]).toBe('a');
});
