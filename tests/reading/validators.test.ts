import { expect, it } from 'vitest';
import { isNotModified, preconditionFails } from '../../reading/validators.ts';

const VERSION = { etag: '"abc"', lastModified: undefined };

it.each([
  ['"abc"', true, true],
  ['"x,y", "abc"\t,"z"', true, true],
  ['"abc",', true, true],
  ['*', true, true],
  ['W/"abc"', true, false],
  ['"x", W/"abc"', true, false],
  ['"abcd"', false, false],
  ['abc', false, false],
  ['x"abc"y', false, false],
  ['W/ "abc"', false, false],
  ['\u00a0*', false, false],
  ['"*"', false, false],
  ['', false, false],
])('%j names this version weakly: %s, strongly: %s', (tags, weakly, strongly) => {
  expect(isNotModified({ 'if-none-match': tags }, VERSION)).toBe(weakly);
  expect(preconditionFails({ 'if-match': tags }, VERSION)).toBe(!strongly);
});
