import { readFileSync, statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { locate, makeFiles } from '../vectors/generate.ts';

const files = await makeFiles();

it.each([...files.keys()])('`npm run vectors` would change nothing in %s', (path) => {
  // Compared as a boolean: the difference of two files of half a megabyte is of no use.
  expect(readFileSync(locate(path), 'utf8') === files.get(path)).toBe(true);
});

it('the vectors stay small enough to be read', () => {
  const sizes = [...files.keys()].filter((path) => path.endsWith('.json')).map((path) => statSync(locate(path)).size);
  expect(sizes.reduce((total, size) => total + size, 0)).toBeLessThan(2_000_000);
});
