/** `wispr withdraw` where a place does not show what it is thought to have: it lost it, has something higher or earlier, or was put back from a copy. */
import { cp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { breakTimestamp, TIMESTAMP } from '../support/target-timestamp.ts';
import { TwoPlaces } from '../support/two-places.ts';

const rig = new TwoPlaces();
const { alone, protectNext, publish, confirm, last, shown, copyOut } = rig;
let A: string;
let B: string;
beforeEach(() => {
  ({ A, B } = rig);
});

describe('without a token, and so without a key server that was ever told,', () => {
  beforeEach(alone);

  it('the output that is served shows what was on its way elsewhere: it is withdrawn there', async () => {
    await publish(B);
    await publish(null);
    await protectNext('<p>2');
    await publish(B, 'lost');
    const { notShown } = await confirm(2);
    expect([notShown, await shown(B), await shown(rig.made.out)]).toEqual([
      [{ target: B, shown: 1 }],
      [1, []],
      [2, [2]],
    ]);
  });

  it('what did not arrive is no loop: either command has a way forward', async () => {
    await publish(A);
    await protectNext('<p>2');
    await publish(A, 'lost');
    const mend = await breakTimestamp(A);
    await expect(confirm(2)).rejects.toThrow('it is signed');
    await mend();
    await expect(confirm()).rejects.toMatchObject({ hint: expect.stringContaining('wispr withdraw 2') });
    await expect(confirm(2)).rejects.toMatchObject({ message: expect.stringContaining('here it counts as withdrawn') });
    await confirm();
    expect([await shown(A), (await last()).owed]).toEqual([[1, []], []]);
  });

  it('nor is what did not arrive at two of them', async () => {
    await publish(B);
    await publish(A);
    await protectNext('<p>2');
    for (const where of [B, A]) await publish(where, 'lost');
    const mends = [await breakTimestamp(A), await breakTimestamp(B)];
    await expect(confirm(2)).rejects.toThrow('it is signed; but not at');
    for (const mend of mends) await mend();
    await expect(confirm(2)).rejects.toMatchObject({ message: expect.stringContaining(`which shows 1, nor at ${B}`) });
    await confirm();
    expect([await shown(A), (await last()).owed]).toEqual([[1, []], []]);
  });

  it('what one of them does not show, and another that cannot be opened may, stays owed there', async () => {
    await publish(A);
    await protectNext('<p>2');
    await publish(A, 'lost');
    await publish(B, 'taken');
    await protectNext('<p>3');
    await rename(B, `${B}-away`);
    await writeFile(B, '');
    await expect(confirm(2)).rejects.toThrow(`nothing was signed; but not at ${B}`);
    expect(await last()).toMatchObject({ withdrawn: [2], owed: [[2, B]] });
    await rm(B);
    await rename(`${B}-away`, B);
    await confirm(2);
    expect([await shown(B), (await last()).owed]).toEqual([[2, [2]], []]);
  });

  it('what arrives late elsewhere is withdrawn by the same command', async () => {
    await publish(B);
    await publish(A);
    await protectNext('<p>2');
    await publish(B, 'lost');
    const late = await readFile(join(rig.made.out, TIMESTAMP));
    await publish(A, 'taken');
    await confirm(2);
    await writeFile(join(B, TIMESTAMP), late);
    expect((await confirm(2)).besides).toEqual([B]);
    expect(await shown(B)).toEqual([2, [2]]);
  });

  it('a target that has something higher never gets what is below it', async () => {
    await publish(B);
    await protectNext('<p>2');
    await publish(B, 'taken');
    await protectNext('<p>3');
    await publish(B, 'taken');
    await publish(A);
    await confirm(3);
    await protectNext('<p>4');
    await publish(A);
    await confirm(2);
    expect([await shown(A), await shown(B)]).toEqual([
      [4, [2, 3]],
      [3, [2, 3]],
    ]);
  });

  it('nor where nothing tells of that any more but the target', async () => {
    await publish(B);
    await protectNext('<p>2');
    await publish(B, 'lost');
    const { places: before } = JSON.parse(await readFile(rig.workspace.lastPublished, 'utf8'));
    await protectNext('<p>3');
    await publish(B);
    const now = JSON.parse(await readFile(rig.workspace.lastPublished, 'utf8'));
    await writeFile(rig.workspace.lastPublished, JSON.stringify({ ...now, places: before }));
    await expect(confirm(2)).rejects.toMatchObject({ message: expect.stringContaining(`not at ${B}, which shows 3`) });
    expect(await shown(B)).toEqual([3, []]);
  });

  it.each<[string, boolean]>([
    ['as it lies in the output', false],
    ['and the output has gone on', true],
  ])('a later one that its host has copied from another place ends what is below it, %s', async (_, hasGoneOn) => {
    await publish(B);
    await protectNext('<p>2');
    await publish(A);
    await cp(A, B, { recursive: true });
    if (hasGoneOn) await protectNext('<p>3');
    for (const time of ['first', 'second'])
      expect([time, await confirm(1)]).toMatchObject([time, { target: A, notShown: [{ target: B, shown: 2 }] }]);
    expect([await shown(A), await shown(B), (await last()).owed]).toEqual([[2, [1]], [2, []], []]);
  });

  it('and is what is withdrawn there, where the place that it was copied from is gone', async () => {
    await publish(A);
    await protectNext('<p>2');
    await publish(B);
    await cp(B, A, { recursive: true });
    await protectNext('<p>3');
    await rm(B, { recursive: true });
    expect(await confirm(2, [B])).toMatchObject({ target: A, unfinished: [] });
    expect([await shown(A), (await last()).owed]).toEqual([[2, [2]], []]);
  });

  it('an output that is served, and is from before it, has nothing to be withdrawn', async () => {
    await publish(null);
    const putBack = await copyOut(false);
    await protectNext('<p>2');
    await publish(A);
    await putBack();
    const { target, notShown } = await confirm(2);
    expect([target, notShown]).toEqual([A, [{ target: rig.made.out, shown: 1 }]]);
    expect([await shown(A), await shown(rig.made.out), (await last()).owed]).toEqual([[2, [2]], [1, []], []]);
  });

  it('what was made, and is here no more, is found where it was begun', async () => {
    await publish(A);
    const putBack = await copyOut(false);
    await protectNext('<p>2');
    await publish(A, 'taken');
    await putBack();
    await rm(join(A, TIMESTAMP));
    await confirm(2);
    expect(await shown(A)).toEqual([2, [2]]);
  });
});

describe('an output that was put back', () => {
  beforeEach(alone);

  it('takes no number again, nor a lower one to where nobody takes it', async () => {
    await publish(A);
    const putBack = await copyOut(true);
    for (const text of ['<p>2', '<p>3']) await protectNext(text).then(() => publish(A));
    await putBack();
    await publish(B);
    expect(rig.doubts).toEqual([
      expect.stringMatching(/^publication 1 is lower than 3, .*readers who have seen that refuse/),
    ]);
    expect((await last()).highest).toBe(3);
    expect((await rig.made.protect()).publication.version).toBe(4); // the same documents
    await publish(B);
    expect(await shown(B)).toEqual([4, []]);
    const { signed } = JSON.parse(await readFile(join(rig.made.out, METADATA_PATH, '4.snapshot.json'), 'utf8'));
    expect(new Set(Object.values<{ version: number }>(signed.meta).map(({ version }) => version))).toEqual(
      new Set([4]),
    );
  });

  it('and is served, does not show again what was withdrawn', async () => {
    await publish(null);
    const putBack = await copyOut(false);
    await confirm(1);
    await putBack();
    await expect(publish(null)).rejects.toMatchObject({ code: 'publication-withdrawn' });
    await confirm(1);
    expect((await publish(null)) as object).toMatchObject({ withdrawn: true });
  });
});
