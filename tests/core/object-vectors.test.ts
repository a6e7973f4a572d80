import { describe, expect, it } from 'vitest';
import { OBJECT_ERRORS } from '../../core/object/errors.ts';
import { OBJECTS } from '../vectors/files.ts';
import { type ObjectVector, unpack } from '../vectors/format.ts';
import { expectedOutcome, runObjectVector } from '../vectors/run/objects.ts';

const { vectors } = OBJECTS;
const WHOLE = 2 ** 30;
const { 'head-unexpected': _, ...codes } = OBJECT_ERRORS; // a lone object has no publication

describe('the vectors of protected-object.json', () => {
  it('cover success and every error code, and have names of their own', () => {
    const outcomes = new Set(vectors.map(({ outcome }) => outcome));
    expect([...outcomes].sort()).toEqual(['success', ...Object.keys(codes)].sort());
    expect(new Set(vectors.map(({ name }) => name)).size).toBe(vectors.length);
  });

  it.each(vectors)('whole: $name', async (vector) => {
    expect(await runObjectVector(OBJECTS, vector, WHOLE)).toEqual(expectedOutcome(vector));
  });

  it.each(oneOfEachClass())('byte by byte: $name', async (vector) => {
    expect(await runObjectVector(OBJECTS, vector, 1)).toEqual(expectedOutcome(vector));
  });
});

/** The smallest object of each outcome and form. In pieces, what differs is where the reader waits for more, not what it then says. */
function oneOfEachClass(): readonly ObjectVector[] {
  const classes = Map.groupBy(vectors, ({ outcome, object, content, released }) => {
    const isCarrier = Buffer.from(unpack(object).subarray(0, 4)).toString() === '<!--';
    const blocks = Math.min(2, Math.ceil(released.length / 16_384));
    return [outcome, isCarrier, content !== undefined, blocks].join();
  });
  const length = ({ object, content = [] }: ObjectVector) => unpack(object).length + unpack(content).length;
  return [...classes.values()].flatMap((all) => all.toSorted((one, other) => length(one) - length(other))[0] ?? []);
}
