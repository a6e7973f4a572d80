import { getHeapStatistics } from 'node:v8';
import { expect, it } from 'vitest';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { StoredFile } from '../../node-support/storage/target.ts';
import { Inventory, roomForListing } from '../../publisher/publish/inventory.ts';
import { alteredTarget } from '../support/altered-target.ts';

/** A target that lists sixty such files. */
async function listing(pathOf: (number: number) => string, tag: string, digest?: string) {
  return alteredTarget(await openTarget('/nowhere'), {
    list: async function* (): AsyncGenerator<StoredFile> {
      for (let number = 0; number < 60; number++) yield { path: pathOf(number), length: 1, modified: 1, tag, digest };
    },
  });
}

it.each([
  ['long names', (number: number) => `${METADATA_PATH}${'n'.repeat(100)}${number}`, '"x"'],
  ['long tags', (number: number) => `${METADATA_PATH}${number}`, 't'.repeat(100)],
])('refuses a target that lists more metadata than can be kept: %s', async (_, pathOf, tag) => {
  const inventory = Inventory.of(await listing(pathOf, tag), { room: 40_000 });
  await expect(inventory).rejects.toMatchObject({ code: 'target-failed' });
});

it.each([
  ['documents', (number: number) => `/${number}.html`, undefined, 300],
  ['documents with digests', (number: number) => `/${number}.html`, 'd'.repeat(32), 364],
  ['objects', (number: number) => `/${'a'.repeat(64)}.${number}.protected`, 'd'.repeat(32), 300],
])('counts all that it keeps: of %s', async (_, pathOf, digest, bytes) => {
  const target = await listing(pathOf, '', digest);
  expect((await Inventory.of(target, { room: 60 * bytes })).size).toBe(60);
  await expect(Inventory.of(target, { room: 60 * bytes - 1 })).rejects.toMatchObject({ code: 'target-failed' });
});

it('takes no more than half of what this process can have', () => {
  expect(roomForListing()).toBeLessThanOrEqual(getHeapStatistics().heap_size_limit / 2);
});
