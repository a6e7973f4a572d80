/** `wispr withdraw` between choosing and signing: nothing else is signed than what was chosen, and the key server is told with what could be signed. */
import { rm, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { StorageError } from '../../node-support/storage/errors.ts';
import { otherAtWork } from '../support/busy-workspace.ts';
import { readsList, SlowPlaces } from '../support/slow-place.ts';
import { ToldPlaces } from '../support/told-places.ts';

const DAY = 86_400_000;
const rig = new ToldPlaces();
const slow = new SlowPlaces();
const { protectNext, publish, confirm, confirmLater, last, shown, atKeyServer, copyOut } = rig;
let A: string;
let B: string;
beforeEach(() => {
  ({ A, B } = rig);
});
afterEach(() => vi.useRealTimers());

it('it is not told of what is protected meanwhile, and published nowhere', async () => {
  await publish(A);
  await protectNext('<p>2');
  await publish(A);
  let protecting: Promise<void> | undefined;
  slow.before(A, (operation, path) => {
    if (operation === 'get' && path.endsWith('/2.snapshot.json'))
      protecting ??= protectNext('<p>3: not to be seen yet');
    return protecting;
  });
  await expect(confirm(1)).rejects.toMatchObject({ code: 'workspace-busy' });
  expect([await shown(rig.made.out), await shown(A), await atKeyServer()]).toEqual([
    [3, []],
    [2, []],
    [2, []],
  ]);
  await confirm(1);
  expect([await shown(A), await atKeyServer(), (await last()).owed]).toEqual([[2, [1]], [2, [1]], []]);
});

it('it is told with what another place has, where the one that is confirmed cannot be signed for', async () => {
  const putBack = await copyOut(false);
  await protectNext('<p>2');
  await publish(A);
  await publish(B);
  await putBack();
  slow.before(B, async (operation, path) => {
    if (readsList(operation, path)) throw new StorageError('target-unreachable', 'no list can be read');
  });
  await expect(confirm(2)).rejects.toMatchObject({ code: 'target-unreachable' });
  expect([await shown(A), await shown(B), await atKeyServer()]).toEqual([
    [2, [2]],
    [2, []],
    [2, [2]],
  ]);
  expect((await last()).owed).toEqual([[2, B]]);
  slow.letGo(B);
  await confirm(2);
  expect([await shown(B), (await last()).owed]).toEqual([[2, [2]], []]);
});

it('a lock that is held for a moment leaves no place behind, nor the key server', async () => {
  await protectNext('<p>2');
  await publish(A);
  const putBack = await copyOut(false);
  await confirmLater();
  await protectNext('<p>3');
  const { token } = rig;
  rig.token = undefined;
  await publish(A);
  rig.token = token;
  await putBack();
  const other = otherAtWork(rig.workspace);
  const isFree = other.isMet.then(() => other.end()); // met by the key server's part: nothing is known of the place by then
  slow.before(A, () => isFree);
  await confirm(2, undefined, { limits: { looking: 1_500, moment: 60_000 } }); // enough for a key server, which is looked at in that time
  expect([await shown(A), await atKeyServer(), (await last()).owed]).toEqual([[3, [2]], [2, [2]], []]);
});

it('it is told of what it has, where a clock that was ahead has protected the site since, and no place can be opened', async () => {
  await publish(A);
  await publish(B);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + DAY });
  await protectNext('<p>2');
  vi.useRealTimers();
  for (const place of [A, B]) {
    await rm(place, { recursive: true });
    await writeFile(place, 'no directory');
  }
  await expect(confirm(1)).rejects.toMatchObject({ code: 'target-invalid' });
  expect(await atKeyServer()).toEqual([1, [1]]);
  expect((await last()).owed).toEqual([
    [1, A],
    [1, B],
  ]);
});
