import { describe, expect, it } from 'vitest';
import { KEY_ERRORS } from '../../core/keys/errors.ts';
import { KEYS } from '../vectors/files.ts';
import { expectedKeyOutcome, runKeyVector } from '../vectors/run/keys.ts';

const { vectors } = KEYS;
const { 'hand-over-refused': _, ...codes } = KEY_ERRORS; // tested in document-keys.test.ts

describe('the vectors of keys.json', () => {
  it('cover success and every error code, and have names of their own', () => {
    const outcomes = new Set(vectors.map(({ outcome }) => outcome));
    expect([...outcomes].sort()).toEqual(['success', ...Object.keys(codes)].sort());
    expect(new Set(vectors.map(({ name }) => name)).size).toBe(vectors.length);
  });

  it.each(vectors)('$operation: $name', async (vector) => {
    expect(await runKeyVector(vector)).toEqual(expectedKeyOutcome(vector));
  });
});
