import { expect, it } from 'vitest';
import { LINK } from '../vectors/files.ts';
import { expectedKeyOutcome } from '../vectors/run/keys.ts';
import { runLinkVector } from '../vectors/run/link.ts';

it.each(LINK.vectors)('the relays come to what link.json says: $name', async (vector) => {
  expect(await runLinkVector(vector)).toEqual(expectedKeyOutcome(vector));
});
