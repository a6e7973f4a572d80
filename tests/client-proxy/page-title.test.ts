import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { pageTitleOf } from '../../client-proxy/pages/page-title.ts';

it.each([
  ['<TITLE lang=x>\n A &amp;\tB </TITLE><p>x', 'A & B'],
  ['<title>a<b</title>', 'a<b'],
  ['<!-- <title>no</title> --><title>yes</title>', 'yes'],
  ['<svg><title>no</title></svg><title>yes</title>', 'yes'],
  ['<script>"<title>no</title>"</script><title>yes</title>', 'yes'],
  ['<style><title>no</title></style>', undefined],
  ['<title>first</title><title>second</title>', 'first'],
  ['<title></title>', undefined],
  ['<title>cut off', undefined],
  ['', undefined],
])('finds in %j the title %j', (html, title) => {
  expect(pageTitleOf(Buffer.from(html), undefined)).toBe(title);
  expect(pageTitleOf(gzipSync(html), 'gzip')).toBe(title);
});
