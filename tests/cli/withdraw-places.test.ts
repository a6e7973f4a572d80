/** `wispr withdraw` where a publication is, or may be, at more than one place: each owes it until it was brought there, whatever becomes of the others. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import { warnAboutKeys } from '../../cli/key-listing.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { DirectoryTarget } from '../../node-support/storage/directory.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { listKeys } from '../../publisher/keys/list-keys.ts';
import { withLock } from '../../publisher/workspace.ts';
import { breakTimestamp, TIMESTAMP } from '../support/target-timestamp.ts';
import { TwoPlaces } from '../support/two-places.ts';

const rig = new TwoPlaces();
const { alone, protectNext, publish, confirm, last, shown, copyOut } = rig;
let A: string;
let B: string;
beforeEach(() => {
  ({ A, B } = rig);
});

describe('a place that fails', () => {
  let mend: () => Promise<void>;
  beforeEach(async () => {
    await alone();
    await publish(B, 'taken');
    await protectNext('<p>2');
    await publish(A);
    mend = await breakTimestamp(B);
    const here = expect.stringMatching(`^it is signed, and at ${A}; but not at ${B}: `);
    const ways = expect.stringMatching(`run the same command again .*"wispr withdraw 1 --gone ${B}"`);
    await expect(confirm(1)).rejects.toMatchObject({ message: here, hint: ways });
  });

  it.each<[string, () => Promise<unknown>]>([
    ['wispr timestamp', () => confirm()],
    ['publishing to another', () => protectNext('<p>3').then(() => publish(A))],
    ['another withdrawal', () => confirm(2)],
  ])('goes on owing it after %s, which the same command finishes', async (_, work) => {
    await work();
    expect((await last()).owed).toEqual(expect.arrayContaining([[1, B]]));
    expect(await listed()).toContain(`that was not brought to everybody who is to have it: ${B}`);
    await mend();
    await confirm(1);
    expect([await shown(B), (await last()).owed.filter(([version]) => version === 1)]).toEqual([[1, [1]], []]);
  });

  it('and is gone for good can be given up', async () => {
    await rm(B, { recursive: true });
    await expect(confirm(1, [join(B, 'x')])).rejects.toMatchObject({ code: 'usage', hint: expect.stringContaining(B) });
    expect(await confirm(1, [B])).toMatchObject({ target: A, besides: [], unfinished: [] });
    expect(await last()).toMatchObject({ target: A, withdrawn: [1], owed: [] });
  });

  it('and is given up in a run that comes to nothing leaves it to be owed by the others', async () => {
    await mend();
    await publish(B);
    const run = { passphrase: 'wrong', withdraw: 2 };
    await expect(confirmFromWorkspace(run, { config: rig.made.configurationFile, gone: [B] })).rejects.toThrow();
    expect(await last()).toMatchObject({ withdrawn: [1, 2], owed: [[2, A]] });
    await confirm(2);
    expect([await shown(A), (await last()).owed]).toEqual([[2, [1, 2]], []]);
  });

  it('is where publishing something higher ends it as well', async () => {
    await mend();
    await publish(B);
    expect((await last()).owed).toEqual([]);
  });
});

/** What `wispr keys list` says. */
const listed = async () => {
  const lines: string[] = [];
  const { write } = process.stderr;
  process.stderr.write = ((text: string) => lines.push(text) > 0) as typeof write;
  try {
    warnAboutKeys(await listKeys(rig.made.configurationFile, undefined), 'wispr publish');
  } finally {
    process.stderr.write = write;
  }
  return lines.join('');
};

describe('between two places', () => {
  beforeEach(async () => {
    await alone();
    await publish(B, 'taken');
    await publish(A);
  });

  it('a signal ends it with what each of them has, and what is left stays owed', async () => {
    const ending = new AbortController();
    const { put } = DirectoryTarget.prototype;
    const stalled = Promise.withResolvers<never>();
    DirectoryTarget.prototype.put = async function (this: DirectoryTarget, path, ...rest) {
      if (this.name !== B) return put.call(this, path, ...rest);
      ending.signal.addEventListener('abort', () => stalled.reject(new StorageError('target-unreachable', 'closed')));
      await hasItAt(A);
      ending.abort();
      return stalled.promise;
    };
    try {
      await expect(confirm(1, undefined, ending.signal)).rejects.toMatchObject({
        code: 'stopped',
        message: expect.stringMatching(`${A} has it; whether ${B} has it is not known`),
        hint: expect.stringContaining('run "wispr withdraw 1" again'),
      });
    } finally {
      DirectoryTarget.prototype.put = put;
    }
    expect((await last()).owed).toEqual([[1, B]]);
    await confirm(1);
    expect([await shown(B), (await last()).owed]).toEqual([[1, [1]], []]);
  });

  it('somebody else who takes the lock hides nothing of what failed', async () => {
    const mend = await breakTimestamp(B);
    const { put } = DirectoryTarget.prototype;
    const free = Promise.withResolvers<void>();
    DirectoryTarget.prototype.put = async function (this: DirectoryTarget, ...args) {
      void withLock(rig.workspace, () => free.promise).catch(() => undefined);
      return put.apply(this, args);
    };
    try {
      await expect(confirm(1)).rejects.toThrow(`; but not at ${B}: `);
    } finally {
      DirectoryTarget.prototype.put = put;
      free.resolve();
    }
    expect((await last()).owed).toEqual(expect.arrayContaining([[1, B]]));
    await mend();
    await confirm(1);
    expect([await shown(B), (await last()).owed]).toEqual([[1, [1]], []]);
  });
});

it('of two that have the first publication, the last that it was on its way to is confirmed, not the quicker one', async () => {
  await alone();
  await publish(A, 'taken');
  await publish(B, 'taken');
  const { put } = DirectoryTarget.prototype;
  DirectoryTarget.prototype.put = async function (this: DirectoryTarget, ...args) {
    if (this.name === B) await hasItAt(A);
    return put.apply(this, args);
  };
  try {
    expect(await confirm(1)).toMatchObject({ target: B, besides: [A] });
  } finally {
    DirectoryTarget.prototype.put = put;
  }
  expect((await last()).target).toBe(B);
});

it('who publishes it while its first places are brought the withdrawal has it confirmed there', async () => {
  await alone();
  const { place: other } = await rig.places.next();
  await publish(A, 'taken');
  await publish(B, 'taken');
  const { put } = DirectoryTarget.prototype;
  let publishing: Promise<unknown> | undefined;
  DirectoryTarget.prototype.put = async function (this: DirectoryTarget, ...args) {
    if (this.name !== other) {
      publishing ??= publish(other);
      await publishing;
    }
    return put.apply(this, args);
  };
  try {
    await confirm(1);
  } finally {
    DirectoryTarget.prototype.put = put;
  }
  expect((await last()).target).toBe(other);
});

/** Until a place shows that 1 is withdrawn, and it is remembered that it does. */
const hasItAt = async (where: string) => {
  while (JSON.stringify((await last()).owed).includes(where)) await new Promise(setImmediate);
};

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
