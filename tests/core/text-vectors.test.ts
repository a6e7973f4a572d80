import { describe, expect, it } from 'vitest';
import { CANONICAL_JSON, PATHS } from '../vectors/files.ts';
import { runCanonicalJsonVectors, runPathVectors } from '../vectors/run/texts.ts';

describe('the vectors of paths.json', () => {
  const outcome = runPathVectors(PATHS);

  it('attack 88: equivalent spellings of a URL name one document or are refused', () => {
    expect(outcome.documentPathOf).toEqual(PATHS.documentPathOf);
    expect(PATHS.documentPathOf.filter(({ path }) => path === null).length).toBeGreaterThan(40);
  });

  it.each(['urlPathOf', 'isDocumentPath', 'isSite'] as const)('%s', (list) => {
    expect(outcome[list]).toEqual(PATHS[list]);
  });
});

describe('the vectors of canonical-json.json', () => {
  it('attack 4: a second encoding of a value is refused', () => {
    expect(runCanonicalJsonVectors(CANONICAL_JSON)).toEqual(CANONICAL_JSON);
    expect(CANONICAL_JSON.vectors.filter(({ canonical }) => !canonical).length).toBeGreaterThan(50);
  });
});
