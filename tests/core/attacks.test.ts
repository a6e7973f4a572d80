/** The rows of the catalogue of attacks that concern core, each by all the vectors that stand for it. */
import { expect, it } from 'vitest';
import { KEYS, OBJECTS } from '../vectors/files.ts';
import { expectedKeyOutcome, runKeyVector } from '../vectors/run/keys.ts';
import { expectedOutcome, runObjectVector } from '../vectors/run/objects.ts';

/** Runs every vector of the row; at least `least` of them, so that a lost vector is seen. */
async function row(number: number, least: number): Promise<void> {
  const stands = ({ attacks }: { attacks?: readonly number[] }) => attacks?.includes(number) === true;
  const [objectVectors, keyVectors] = [OBJECTS.vectors.filter(stands), KEYS.vectors.filter(stands)];
  expect(objectVectors.length + keyVectors.length).toBeGreaterThanOrEqual(least);
  for (const vector of objectVectors) {
    expect(await runObjectVector(OBJECTS, vector, 4096), vector.name).toEqual(expectedOutcome(vector));
  }
  for (const vector of keyVectors) expect(await runKeyVector(vector), vector.name).toEqual(expectedKeyOutcome(vector));
}

it('attack 1: an empty file is refused', () => row(1, 3));
it('attack 2: an unknown version is refused', () => row(2, 5));
it('attack 3: an object mangled as text is refused', () => row(3, 20));
it('attack 4: a second encoding of a header value is refused', () => row(4, 120));
it('attack 5: a signature missing, short, with S not below L, or followed by bytes is refused', () => row(5, 8));
it('attack 6: a flipped bit in the header is refused before any plaintext', () => row(6, 4));
it('attack 7: a digest list short, long or altered is refused', () => row(7, 6));
it('attack 8: a bad tag or digest in the first block releases nothing', () => row(8, 7));
it('attack 9: a bad tag or digest in the second block releases the first only', () => row(9, 9));
it('attack 10: an object cut at a chunk, at a block or in the middle is refused', () => row(10, 18));
it('attack 11: bytes after the end, two final chunks, a full final chunk, a short middle chunk are refused', () =>
  row(11, 16));
it('attack 12: an empty document is accepted', () => row(12, 3));
it('attack 13: the chunk counter carries past 256', () => row(13, 4));
it('attack 14: reordered and spliced chunks and blocks are refused', () => row(14, 10));
it('attack 15: impossible lengths are refused', () => row(15, 17));
it('attack 16: a key that does not match the commitment is refused', () => row(16, 4));
it('attack 17: what a subscriber re-encrypts is refused', () => row(17, 4));
it('attack 18: an object served at another path is refused', () => row(18, 4));
it('attack 19: an object of another site is refused', () => row(19, 1));
it('attack 20: an object signed by another publisher is refused', () => row(20, 2));
it('attack 21: an object moved between sets is refused', () => row(21, 1));
it('attack 22: a key before or after its time is refused', () => row(22, 7));
it('attack 26: a protected object inside a protected object is not unwrapped', () => row(26, 2));
it('attack 41: an X25519 key of low order, short or long is refused', () => row(41, 15));
it('attack 42: a wrapped key of the wrong length, of another subscriber or under another issuer is refused', () =>
  row(42, 15));
it('attack 43: a key whose hash is not its id is refused', () => row(43, 4));
it('attack 75: an X25519 key with bit 255 set or not below p is refused', () => row(75, 8));
it('attack 85: exact multiples of chunk and block sizes are accepted', () => row(85, 30));
