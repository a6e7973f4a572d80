import { describe, expect, it } from 'vitest';
import type { ObjectErrorCode } from '../../core/object/errors.ts';
import { type ObjectVector, type ObjectVectorFile, unpack } from '../vectors/format.ts';
import objects from '../vectors/protected-object.json' with { type: 'json' };
import { expectedOutcome, runObjectVector } from '../vectors/run/objects.ts';

const file = objects as unknown as ObjectVectorFile;
const WHOLE = 2 ** 30;
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

  it.each(oneOfEachClass())('byte by byte: $name', async (vector) => {
    expect(await runObjectVector(file, vector, 1)).toEqual(expectedOutcome(vector));
  });
});

/** The smallest object of each outcome and form. In pieces, what differs is where the reader waits for more, not what it then says. */
function oneOfEachClass(): readonly ObjectVector[] {
  const classes = Map.groupBy(file.vectors, ({ outcome, object, content, released }) => {
    const isCarrier = Buffer.from(unpack(object).subarray(0, 4)).toString() === '<!--';
    const blocks = Math.min(2, Math.ceil(released.length / 16_384));
    return [outcome, isCarrier, content !== undefined, blocks].join();
  });
  const length = ({ object, content = [] }: ObjectVector) => unpack(object).length + unpack(content).length;
  return [...classes.values()].flatMap(
    (vectors) => vectors.toSorted((one, other) => length(one) - length(other))[0] ?? [],
  );
}
