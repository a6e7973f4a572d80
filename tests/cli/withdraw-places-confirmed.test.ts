/** `wispr withdraw` of what the real key server sends readers to, where no place shows it, or can be asked: what was signed for it lies in the output. */
import { cp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { breakTimestamp } from '../support/target-timestamp.ts';
import { ToldPlaces } from '../support/told-places.ts';

const rig = new ToldPlaces();
const { protectNext, publish, confirm, last, shown, atKeyServer, copyOut, setToken } = rig;
let A: string;
let B: string;
beforeEach(() => {
  ({ A, B } = rig);
});

/** There is a file in its place; @returns puts it back. */
const close = async (where: string) => {
  await rename(where, `${where}-away`);
  await writeFile(where, '');
  return async () => {
    await rm(where);
    await rename(`${where}-away`, where);
  };
};

describe('a place that cannot be opened keeps nobody from telling it,', () => {
  it('where another shows something else', async () => {
    await publish(A);
    await protectNext('<p>2');
    await publish(A, 'lost');
    await publish(B);
    const mend = await close(B);
    await expect(confirm(2)).rejects.toMatchObject({
      code: 'target-invalid',
      message: expect.stringMatching(`the key server was told; but not at ${B}: `),
      hint: expect.stringContaining(`"wispr withdraw 2 --gone ${B}"`),
    });
    expect([await atKeyServer(), (await last()).owed]).toEqual([[2, [2]], [[2, B]]]);
    await mend();
    await confirm(2);
    expect([await shown(B), (await last()).owed]).toEqual([[2, [2]], []]);
  });

  it('where that is all there is', async () => {
    await publish(B);
    const mend = await close(B);
    await expect(confirm(1)).rejects.toMatchObject({
      code: 'target-invalid',
      message: expect.stringMatching(`the key server was told; but not at ${B}: `),
    });
    expect([await atKeyServer(), (await last()).owed]).toEqual([[1, [1]], [[1, B]]]);
    await mend();
    await confirm(1);
    expect([await shown(B), (await last()).owed]).toEqual([[1, [1]], []]);
  });
});

it('a number that was never on its way, while the place is down, has it told of nothing that is not out', async () => {
  await publish(B);
  for (const text of ['<p>2', '<p>3']) await protectNext(text);
  await publish(B, 'lost');
  await breakTimestamp(B);
  await expect(confirm(2)).rejects.toThrow(
    /^it is signed, but not where the site is served: (?!.*the key server was told)/,
  );
  expect(await atKeyServer()).toEqual([1, []]);
});

it('where a host has copied a later one from another place, it is told of that, as it is where that is', async () => {
  await publish(B);
  await protectNext('<p>2');
  await publish(A);
  await cp(A, B, { recursive: true });
  expect(await confirm(1)).toMatchObject({ target: A, keyServerTold: true, notShown: [{ target: B, shown: 2 }] });
  expect([await atKeyServer(), await shown(B), (await last()).owed]).toEqual([[2, [1]], [2, []], []]);
});

describe('where the output has gone on,', () => {
  it('and the only place is given up, it is told of what it has, and not of what was never published', async () => {
    await publish(A);
    for (const text of ['<p>2', '<p>3']) await protectNext(text);
    await rm(A, { recursive: true });
    expect(await confirm(1, [A])).toMatchObject({ target: undefined, keyServerTold: true, unfinished: [] });
    expect([await atKeyServer(), (await last()).owed]).toEqual([[1, [1]], []]);
  });

  it('and the place that has it is given up, but not another, it is told all the same', async () => {
    await publish(B);
    await protectNext('<p>2');
    await publish(A);
    await protectNext('<p>3');
    await rm(A, { recursive: true });
    expect(await confirm(2, [A])).toMatchObject({ target: B, isOnlyTold: true, notShown: [{ target: B, shown: 1 }] });
    expect([await atKeyServer(), await shown(B), (await last()).owed]).toEqual([[2, [2]], [1, []], []]);
  });
});

it('without its token it can be told nothing: the same command with the token is the way on', async () => {
  await publish(A);
  await protectNext('<p>2');
  await publish(B);
  await rm(B, { recursive: true });
  const { token = '' } = rig;
  rig.token = undefined;
  await expect(confirm(2, [B])).rejects.toMatchObject({
    code: 'version-unknown',
    message: expect.stringMatching(`${rig.keyServer} has it, and was told nothing; here it counts as withdrawn$`),
    hint: expect.stringMatching(/^run the same command again with its token/),
  });
  expect(await last()).toMatchObject({ withdrawn: [2], owed: [[2, 'key server']] });
  await setToken(token);
  expect(await confirm(2)).toMatchObject({ keyServerTold: true, isOnlyTold: true });
  expect([await atKeyServer(), (await last()).owed]).toEqual([[2, [2]], []]);
});

it('what another copy has told it is known from then on, and still owed where it does not answer any more', async () => {
  await publish(B);
  const putBack = await copyOut(false);
  const before = `${B}-before`;
  await cp(B, before, { recursive: true });
  await protectNext('<p>2');
  await publish(B, 'lost');
  const memory = await readFile(rig.workspace.lastPublished);
  await publish(B); // by another copy of this workspace
  await writeFile(rig.workspace.lastPublished, memory);
  await putBack();
  await rm(B, { recursive: true });
  await cp(before, B, { recursive: true }); // as its host has put it back
  await expect(confirm(2)).rejects.toThrow(/has it, and what was signed for it is not here any more/);
  expect((await last()).owed).toEqual([[2, 'key server']]);
  await rig.closeKeyServer();
  await expect(confirm(2)).rejects.toThrow('the key server does not say whether it has it');
  expect((await last()).owed).toEqual([[2, 'key server']]);
});
