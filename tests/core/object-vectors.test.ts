import { describe, expect, it } from 'vitest';
import type { ObjectErrorCode } from '../../core/object/errors.ts';
import type { ObjectVector, ObjectVectorFile } from '../vectors/format.ts';
import { unpack } from '../vectors/format.ts';
import objects from '../vectors/protected-object.json' with { type: 'json' };
import { expectedOutcome, runObjectVector } from '../vectors/run/objects.ts';

const file = objects as unknown as ObjectVectorFile;
const WHOLE = 2 ** 30;
/** Objects of more bytes than this arrive in bigger pieces, of a prime number of bytes so that no border is met twice. */
const BYTE_BY_BYTE = 200_000;
const CODES = {
  'object-unrecognised': true,
  'object-version': true,
  'header-invalid': true,
  'object-truncated': true,
  'publisher-unexpected': true,
  'signature-invalid': true,
  'block-digest': true,
  'site-mismatch': true,
  'path-mismatch': true,
  'key-missing': true,
  'key-not-valid-now': true,
  'key-id-mismatch': true,
  'payload-invalid': true,
  'object-trailing': true,
} satisfies Record<Exclude<ObjectErrorCode, 'head-unexpected'>, true>; // a lone object has no publication

describe('the vectors of protected-object.json', () => {
  it('cover success and every error code', () => {
    const outcomes = new Set(file.vectors.map(({ outcome }) => outcome));
    expect([...outcomes].sort()).toEqual(['success', ...Object.keys(CODES)].sort());
  });

  it('have names of their own', () => {
    expect(new Set(file.vectors.map(({ name }) => name)).size).toBe(file.vectors.length);
  });

  it.each(file.vectors)('whole: $name', async (vector) => {
    expect(await runObjectVector(file, vector, WHOLE)).toEqual(expectedOutcome(vector));
  });

  it.each(file.vectors)('byte by byte: $name', async (vector) => {
    expect(await runObjectVector(file, vector, pieceLength(vector))).toEqual(expectedOutcome(vector));
  });
});

function pieceLength({ object, content = [] }: ObjectVector): number {
  return unpack(object).length + unpack(content).length <= BYTE_BY_BYTE ? 1 : 997;
}
