import { expect, it } from 'vitest';
import type { KeyVectorFile } from '../vectors/format.ts';
import file from '../vectors/link.json' with { type: 'json' };
import { expectedKeyOutcome } from '../vectors/run/keys.ts';
import { runLinkVector } from '../vectors/run/link.ts';

const { vectors } = file as unknown as KeyVectorFile;

it.each(vectors)('the relays come to what link.json says: $name', (vector) => {
  expect(runLinkVector(vector)).toEqual(expectedKeyOutcome(vector));
});
