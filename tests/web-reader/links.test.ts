/** Links that the worker finds in the pages that a reader keeps, which are the publisher's and may be of any form. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { linksIn, titleOf } from '../../web-reader/worker/links.ts';

const SIZE = 500_000;
const MEBIBYTE = 1_048_576;

beforeAll(() => void vi.stubGlobal('self', { location: { origin: 'https://pages.example' } })); // the worker's own
afterAll(() => vi.unstubAllGlobals());

it('finds what a page loads and leads to on its own site', () => {
  const page = `<title lang=en> A day </title><link href="/s.css?a&amp;b"><img srcset="1,1.png 1x, 2.png 2x" src='0.png'>
    <a href=https://elsewhere.example/x>x</a><style>@import "more.css"; p { background: url( 'p.png' ) }</style>`;
  const names = ['/s.css?a&b', '/d/1,1.png', '/d/2.png', '/d/0.png', '/d/p.png', '/d/more.css'];
  expect([...linksIn(page, '/d/x.html')].sort()).toEqual(names.sort());
  expect(titleOf(page)).toBe('A day');
});

// A time that grows with the square of the length would exceed the time that a test has.
it.each(['<a ', '<a href="', "<a href='", '<title', '<title ', 'src=', 'src  ', '@import ', 'url(" ', 'url("a'])(
  'is soon done with half a million characters of %j',
  (piece) => {
    const hostile = piece.repeat(SIZE / piece.length);
    expect([...linksIn(`<a href="/first.html">${hostile}`, '/')]).toContain('/first.html');
    expect(titleOf(hostile)).toBe('');
  },
);

it('looks at the first mebibyte only', () => {
  const page = `${' '.repeat(MEBIBYTE)}<a href="/x"><title>It</title>`;
  expect([[...linksIn(page, '/')], titleOf(page)]).toEqual([[], '']);
});
