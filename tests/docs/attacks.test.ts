import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const listed = new Set(
  [...readFileSync('docs/attacks.md', 'utf8').matchAll(/^\| (\d+) \|/gm)].map((match) => match[1]),
);
const titles = globSync('tests/**/*.test.ts').flatMap((file) => [
  ...readFileSync(file, 'utf8').matchAll(/\battack (\d+)\b/g),
]);
const tested = new Set(titles.map((match) => match[1]));

describe('docs/attacks.md', () => {
  it('lists every attack that a test names', () => {
    expect([...tested].filter((row) => !listed.has(row))).toEqual([]);
  });

  it('lists none that no test names', () => {
    expect(listed.size).toBeGreaterThan(40);
    expect([...listed].filter((row) => !tested.has(row))).toEqual([]);
  });
});
