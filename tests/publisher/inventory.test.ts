import { expect, it } from 'vitest';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { StoredFile } from '../../node-support/storage/target.ts';
import { Inventory } from '../../publisher/publish/inventory.ts';
import { alteredTarget } from '../support/altered-target.ts';

/** A target that lists sixty such files. */
async function listing(pathOf: (number: number) => string, tag: string) {
  return alteredTarget(await openTarget('/nowhere'), {
    list: async function* (): AsyncGenerator<StoredFile> {
      for (let number = 0; number < 60; number++)
        yield { path: pathOf(number), length: 1, modified: 1, tag, digest: undefined };
    },
  });
}

it.each([
  ['long names', (number: number) => `${METADATA_PATH}${'n'.repeat(100)}${number}`, '"x"'],
  ['long tags', (number: number) => `${METADATA_PATH}${number}`, 't'.repeat(100)],
])('refuses a target that lists more metadata than can be kept: %s', async (_, pathOf, tag) => {
  const target = await listing(pathOf, tag);
  await expect(Inventory.of(target, 5000)).rejects.toMatchObject({
    code: 'target-failed',
    hint: expect.stringContaining(METADATA_PATH),
  });
});

it('keeps no names of documents, however many there are', async () => {
  let number = 0;
  const target = alteredTarget(await openTarget('/nowhere'), {
    list: async function* (): AsyncGenerator<StoredFile> {
      while (number < 1000) yield { path: `/${number++}.html`, length: 1, modified: 1, tag: '"x"', digest: undefined };
    },
  });
  expect((await Inventory.of(target, 100)).size).toBe(1000);
});
