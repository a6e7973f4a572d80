import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const documented = [...readFileSync('docs/errors.md', 'utf8').matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map(
  (match) => match[1],
);
const sources = globSync([
  'core/*/errors.ts',
  'publisher/errors.ts',
  'keyserver/errors.ts',
  'client-proxy/errors.ts',
  'cache-config/errors.ts',
]);
const inCode = sources.flatMap((file) => {
  const [, union = ''] = /ErrorCode =([^;]+);/.exec(readFileSync(file, 'utf8')) ?? [];
  return [...union.matchAll(/'([a-z0-9-]+)'/g)].map((match) => match[1]);
});

describe('docs/errors.md', () => {
  it('documents every code of every layer', () => {
    expect(inCode.length).toBeGreaterThan(40);
    expect(inCode.filter((code) => !documented.includes(code))).toEqual([]);
  });

  it('documents no code that does not exist', () => {
    expect(documented.filter((code) => code !== 'usage' && !inCode.includes(code))).toEqual([]);
  });
});
