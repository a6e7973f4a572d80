/** The key server hears of a publication last: by then it may have confirmed the one before, later than this one was signed. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { openTarget } from '../../node-support/storage/open.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { saidAt, saidBy, TIMESTAMP } from '../support/target-timestamp.ts';
import { ToldPlaces } from '../support/told-places.ts';

const rig = new ToldPlaces();
beforeEach(async () => {
  await rig.publish(rig.A);
  await rig.confirmLater();
  await rig.protectNext('<p>2');
});

const atKeyServer = async () => saidBy(new Uint8Array(await (await fetch(rig.keyServer + TIMESTAMP)).arrayBuffer()));

it('a newer timestamp is signed then, and takes the place of the one that was put', async () => {
  await rig.publish(rig.A);
  expect([await atKeyServer(), await saidAt(rig.A)]).toMatchObject([{ publication: 2 }, { publication: 2 }]);
  const there = await readFile(join(rig.A, TIMESTAMP));
  expect(Buffer.from(await (await fetch(rig.keyServer + TIMESTAMP)).arrayBuffer())).toEqual(there);
  expect(await readFile(join(rig.made.out, TIMESTAMP))).toEqual(there);
});

it('where nobody can sign, it is said that the publication is out', async () => {
  const target = await openTarget(rig.A);
  const { workspace } = rig;
  await expect(publishSite({ workspace, out: rig.made.out, target, keyServer: rig.access })).rejects.toMatchObject({
    code: 'key-server-refused',
    message: expect.stringMatching(/^published, at .*; but the key server .* refuses .*metadata-rollback$/),
    hint: expect.stringContaining('without --no-protect'),
  });
  expect(await saidAt(rig.A)).toMatchObject({ publication: 2 });
});
