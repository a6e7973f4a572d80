import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const page = readFileSync('docs/errors.md', 'utf8');
const documented = [...page.matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map((match) => match[1]);
const sources = globSync([
  'core/*/errors.ts',
  'publisher/errors.ts',
  'keyserver/errors.ts',
  'client-proxy/errors.ts',
  'cache-config/errors.ts',
  'node-support/*/errors.ts',
]);
const inCode = sources.flatMap((file) => {
  const [, union = ''] = /ErrorCode =([^;]+);/.exec(readFileSync(file, 'utf8')) ?? [];
  return [...union.matchAll(/'([a-z0-9-]+)'/g)].map((match) => match[1]);
});

/** `step code` for each code in the tables of verification steps. */
function stepsInSpec(file: string): string[] {
  const rows = readFileSync(file, 'utf8').matchAll(/^\| ([WDBP]?\d+) \|.*\| ([^|]*`[^|]*) \|$/gm);
  return [...rows].flatMap(([, step, cell = '']) =>
    [...cell.matchAll(/`([a-z-]+)`/g)].filter(([, code]) => inCode.includes(code)).map(([, code]) => `${step} ${code}`),
  );
}

/** The same, out of the tables of this page that have a column for steps. */
function stepsOnPage(heading: string): string[] {
  const [, section = ''] = new RegExp(`^## ${heading}$([^#]*)`, 'm').exec(page) ?? [];
  return [...section.matchAll(/^\| `([a-z-]+)` \|(?:.*\|)? ([WDBP0-9, ]*)\| [^|]* \| [^|]* \|$/gm)].flatMap(
    ([, code, steps = '']) => (steps.match(/[WDBP]?\d+/g) ?? []).map((step) => `${step} ${code}`),
  );
}

describe('docs/errors.md', () => {
  it('documents every code of every layer', () => {
    expect(inCode.length).toBeGreaterThan(40);
    expect(inCode.filter((code) => !documented.includes(code))).toEqual([]);
  });

  it('documents no code that does not exist', () => {
    expect(documented.filter((code) => code !== 'usage' && !inCode.includes(code))).toEqual([]);
  });

  it.each([
    ['Protected objects', 'docs/spec/protected-object.md', 20],
    ['Keys', 'docs/spec/keys.md', 13],
    ['Publications', 'docs/spec/publication.md', 11],
  ])('gives the codes of "%s" the steps that %s gives them', (heading, spec, least) => {
    const inSpec = stepsInSpec(spec);
    expect(inSpec.length).toBeGreaterThanOrEqual(least);
    expect(stepsOnPage(heading).sort()).toEqual(inSpec.sort());
  });
});
