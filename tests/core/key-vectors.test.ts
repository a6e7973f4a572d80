import { describe, expect, it } from 'vitest';
import type { KeyErrorCode } from '../../core/keys/errors.ts';
import type { KeyVectorFile } from '../vectors/format.ts';
import keys from '../vectors/keys.json' with { type: 'json' };
import { expectedKeyOutcome, runKeyVector } from '../vectors/run/keys.ts';

const file = keys as unknown as KeyVectorFile;
const CODES = {
  'wrapped-key-invalid': true,
  'key-not-valid-now': true,
  'envelope-malformed': true,
  'binding-malformed': true,
  'request-malformed': true,
  'answer-unreadable': true,
  'descriptor-malformed': true,
  'descriptor-expired': true,
  'host-proof': true,
  'bundle-malformed': true,
  'bundle-recipient': true,
  'roaming-malformed': true,
  'roaming-unreadable': true,
  'key-file-malformed': true,
} satisfies Record<Exclude<KeyErrorCode, 'hand-over-refused'>, true>; // tested in document-keys.test.ts

describe('the vectors of keys.json', () => {
  it('cover success and every error code', () => {
    const outcomes = new Set(file.vectors.map(({ outcome }) => outcome));
    expect([...outcomes].sort()).toEqual(['success', ...Object.keys(CODES)].sort());
  });

  it('have names of their own', () => {
    expect(new Set(file.vectors.map(({ name }) => name)).size).toBe(file.vectors.length);
  });

  it.each(file.vectors)('$operation: $name', async (vector) => {
    expect(await runKeyVector(vector)).toEqual(expectedKeyOutcome(vector));
  });
});
