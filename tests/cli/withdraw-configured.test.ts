/** `wispr withdraw` where `wispr.json` names a target of which nothing is remembered: `publisher.last` may be one from before. */
import { readFile, writeFile } from 'node:fs/promises';
import { beforeEach, expect, it } from 'vitest';
import { SlowPlaces } from '../support/slow-place.ts';
import { TwoPlaces } from '../support/two-places.ts';

const rig = new TwoPlaces();
const slow = new SlowPlaces();
const { open, protectNext, publish, confirm, last, shown } = rig;
let A: string;
let B: string;
let memory: Buffer;
beforeEach(async () => {
  ({ A, B } = rig);
  await open({ timestampBy: 'publisher', publish: B });
  await rig.made.protect();
  await publish(A);
  memory = await readFile(rig.workspace.lastPublished);
});
const forget = () => writeFile(rig.workspace.lastPublished, memory);

it('what it shows is withdrawn there', async () => {
  await protectNext('<p>2');
  await publish(B);
  await forget();
  expect(await confirm(2)).toMatchObject({ target: B, notShown: [{ target: A, shown: 1 }], unfinished: [] });
  expect([await shown(A), await shown(B)]).toEqual([
    [1, []],
    [2, [2]],
  ]);
});

it('also where the place that is remembered is given up', async () => {
  await publish(B);
  await forget();
  await confirm(1, [A]);
  expect([await shown(B), (await last()).owed]).toEqual([[1, [1]], []]);
});

it('what it shows of before stays as it is', async () => {
  await publish(B);
  await forget();
  await protectNext('<p>2');
  await publish(A);
  await forget();
  await confirm(2);
  expect([await shown(A), await shown(B)]).toEqual([
    [2, [2]],
    [1, []],
  ]);
});

it.each<[string, () => Promise<unknown> | unknown]>([
  ['is not there', () => undefined],
  ['cannot be opened', () => writeFile(B, 'no directory')],
  ['does not answer', () => slow.hold(B)],
])('one that %s holds up nobody', async (_, prepare) => {
  await prepare();
  const limits = { looking: 60_000, moment: 300 };
  expect(await confirm(1, undefined, { limits })).toMatchObject({
    target: A,
    besides: [],
    notShown: [],
    unfinished: [],
  });
  expect([await shown(A), (await last()).owed]).toEqual([[1, [1]], []]);
});
