/** Hints that the command line adds to errors by their code. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { hintFor } from '../../cli/hints.ts';

const documented = [...readFileSync('docs/errors.md', 'utf8').matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map(
  ([, code = '']) => code,
);
const named = [...readFileSync('cli/hints.ts', 'utf8').matchAll(/^ {2}'?([a-z-]+)'?: '/gm)].map(
  ([, code = '']) => code,
);

describe('the hints of the command line', () => {
  it('are for codes that exist', () => {
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((code) => !documented.includes(code))).toEqual([]);
  });

  it.each(named)('say what to do about %s in lower case, without a full stop', (code) => {
    expect(hintFor(code)).toMatch(/^[a-z].*[^.]$/);
  });

  it('are none for what nobody can do anything about', () => {
    expect(hintFor('usage')).toBeUndefined();
    expect(hintFor('toString')).toBeUndefined();
  });
});
