import { describe, expect, it } from 'vitest';
import canonicalJson from '../vectors/canonical-json.json' with { type: 'json' };
import type { CanonicalJsonVectorFile, PathVectorFile } from '../vectors/format.ts';
import paths from '../vectors/paths.json' with { type: 'json' };
import { runCanonicalJsonVectors, runPathVectors } from '../vectors/run/texts.ts';

describe('the vectors of paths.json', () => {
  const file = paths as PathVectorFile;
  const outcome = runPathVectors(file);

  it('attack 88: equivalent spellings of a URL name one document or are refused', () => {
    expect(outcome.documentPathOf).toEqual(file.documentPathOf);
    expect(file.documentPathOf.filter(({ path }) => path === null).length).toBeGreaterThan(40);
  });

  it.each(['urlPathOf', 'isDocumentPath', 'isSite'] as const)('%s', (list) => {
    expect(outcome[list]).toEqual(file[list]);
  });
});

describe('the vectors of canonical-json.json', () => {
  const file = canonicalJson as CanonicalJsonVectorFile;

  it('attack 4: a second encoding of a value is refused', () => {
    expect(runCanonicalJsonVectors(file)).toEqual(file);
    expect(file.vectors.filter(({ canonical }) => !canonical).length).toBeGreaterThan(50);
  });
});
