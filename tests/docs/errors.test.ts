import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SECTIONS } from '../../cli/error-sections.ts';
import type { ErrorCatalogue } from '../../core/errors.ts';
import { errorDocs } from '../../scripts/error-docs.ts';

const everywhere: readonly [code: string, ErrorCatalogue[string]][] = SECTIONS.flatMap(({ catalogue }) =>
  Object.entries(catalogue),
);

/** `step code` for each code in the tables of verification steps. */
function stepsInSpec(file: string, catalogue: ErrorCatalogue): string[] {
  const rows = readFileSync(file, 'utf8').matchAll(/^\| ([WDBPC]?\d+) \|.*\| ([^|]*`[^|]*) \|$/gm);
  return [...rows].flatMap(([, step, cell = '']) =>
    [...cell.matchAll(/`([a-z-]+)`/g)]
      .filter(([, code = '']) => Object.hasOwn(catalogue, code))
      .map(([, code]) => `${step} ${code}`),
  );
}

function stepsOf(catalogue: ErrorCatalogue): string[] {
  return Object.entries(catalogue).flatMap(([code, { step = '' }]) =>
    (step.match(/\b[WDBPC]?\d+/g) ?? []).map((one) => `${one} ${code}`),
  );
}

describe('docs/generated/errors.md', () => {
  it('is what `npm run errors` writes', () => {
    expect(readFileSync('docs/generated/errors.md', 'utf8')).toBe(errorDocs());
    expect(errorDocs()).not.toMatch(/\{[a-z]+\}/);
  });

  it('has a section for every catalogue', () => {
    const files = globSync(
      '{core,reading,publisher,keyserver,client-proxy,httpcrypt,link,web-reader,cache-config,node-support}/**/*.ts',
    );
    const catalogues = files.filter((file) => readFileSync(file, 'utf8').includes('satisfies ErrorCatalogue'));
    expect(SECTIONS).toHaveLength(catalogues.length);
  });

  it.each(SECTIONS.flatMap(({ title, catalogue, spec }) => (spec ? [[title, spec, catalogue] as const] : [])))(
    'gives the codes of "%s" the steps that %s gives them',
    (_title, spec, catalogue) => {
      const inSpec = stepsInSpec(spec, catalogue);
      expect(inSpec.length).toBeGreaterThanOrEqual(4);
      expect(stepsOf(catalogue).sort()).toEqual(inSpec.sort());
    },
  );
});

it('a catalogue advises for every code, in sentences that the command line can show as they are', () => {
  const wrong = everywhere.filter(([, { remedy = '' }]) => !/^[^A-Z\s].*[^.\s]$/.test(remedy));
  expect(wrong).toEqual([]);
});
