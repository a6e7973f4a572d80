/** `wispr withdraw` where a publication is, or may be, at more than one place: each owes it until it was brought there, whatever becomes of the others. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { asJson, describePlace } from '../../cli/commands/timestamp.ts';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import { warnAboutKeys } from '../../cli/key-listing.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { listKeys } from '../../publisher/keys/list-keys.ts';
import { type OtherAtWork, otherAtWork } from '../support/busy-workspace.ts';
import { SlowPlaces } from '../support/slow-place.ts';
import { breakTimestamp } from '../support/target-timestamp.ts';
import { TwoPlaces } from '../support/two-places.ts';

const rig = new TwoPlaces();
const slow = new SlowPlaces();
const { alone, protectNext, publish, confirm, last, shown } = rig;
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

  it('is named to machines as well', async () => {
    const unfinished = [{ version: 1, places: [B], atKeyServer: false }];
    expect(asJson(await confirm())).toMatchObject({ publication: 2, target: A, keyServerTold: false, unfinished });
  });

  it('and is gone for good can be given up', async () => {
    await rm(B, { recursive: true });
    await expect(confirm(1, [join(B, 'x')])).rejects.toMatchObject({ code: 'usage', hint: expect.stringContaining(B) });
    expect(await confirm(1, [B])).toMatchObject({ target: A, besides: [], unfinished: [] });
    expect(await last()).toMatchObject({ target: A, withdrawn: [1], owed: [] });
  });

  it('can be given up twice in one command', async () => {
    expect(await confirm(1, [B, B])).toMatchObject({ target: A, unfinished: [] });
    expect((await last()).owed).toEqual([]);
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

  it('is not said to lack what is withdrawn after it, at the other, which alone had that', async () => {
    expect(await confirm(2)).toMatchObject({ target: A, unfinished: [{ version: 1, places: [B] }] });
    const is2 = expect.stringMatching(/^publication 2 is withdrawn, and is not confirmed any more$/);
    await expect(confirm()).rejects.toMatchObject({ code: 'publication-withdrawn', message: is2 });
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
    slow.before(B, async (operation) => {
      if (operation !== 'put') return;
      await hasItAt(A);
      ending.abort();
      throw new StorageError('target-unreachable', 'closed');
    });
    await expect(confirm(1, undefined, { signal: ending.signal })).rejects.toMatchObject({
      code: 'stopped',
      message: expect.stringMatching(`${A} has it; whether ${B} has it is not known`),
      hint: expect.stringContaining('run "wispr withdraw 1" again'),
    });
    expect((await last()).owed).toEqual([[1, B]]);
    slow.letGo(B);
    await confirm(1);
    expect([await shown(B), (await last()).owed]).toEqual([[1, [1]], []]);
  });

  it('somebody else who takes the lock hides nothing of what failed', async () => {
    const mend = await breakTimestamp(B);
    let other: OtherAtWork | undefined;
    const begin = async (operation: string) => {
      if (operation === 'put') other ??= otherAtWork(rig.workspace);
    };
    for (const where of [A, B]) slow.before(where, begin);
    await expect(confirm(1)).rejects.toThrow(`; but not at ${B}: `);
    await other?.end();
    expect((await last()).owed).toEqual(expect.arrayContaining([[1, B]]));
    await mend();
    await confirm(1);
    expect([await shown(B), (await last()).owed]).toEqual([[1, [1]], []]);
  });

  it('where the passphrase is wrong, or somebody else at work, nothing says that a place could be given up', async () => {
    const hint = expect.not.stringContaining('--gone');
    const run = { passphrase: 'wrong', withdraw: 1 };
    const flags = { config: rig.made.configurationFile };
    await expect(confirmFromWorkspace(run, flags)).rejects.toMatchObject({ code: 'passphrase-wrong', hint });
    const other = otherAtWork(rig.workspace);
    await expect(confirm(1)).rejects.toMatchObject({ code: 'workspace-busy', hint });
    await other.end();
    expect(await last()).toMatchObject({ withdrawn: [], owed: [] });
    await confirm(1);
    expect([await shown(A), await shown(B), (await last()).owed]).toEqual([[1, [1]], [1, [1]], []]);
  });
});

it('of two that have the first publication, the last that it was on its way to is confirmed, not the quicker one', async () => {
  await alone();
  await publish(A, 'taken');
  await publish(B, 'taken');
  slow.before(B, (operation) => (operation === 'put' ? hasItAt(A) : undefined));
  expect(await confirm(1)).toMatchObject({ target: B, besides: [A] });
  expect((await last()).target).toBe(B);
});

it('who publishes it while its first places are brought the withdrawal has it confirmed there', async () => {
  await alone();
  const { place: other } = await rig.places.next();
  await publish(A, 'taken');
  await publish(B, 'taken');
  let publishing: Promise<unknown> | undefined;
  const meanwhile = (operation: string) => {
    if (operation === 'put') publishing ??= publish(other);
    return publishing;
  };
  for (const where of [A, B]) slow.before(where, meanwhile);
  await confirm(1);
  expect((await last()).target).toBe(other);
});

it.each([true, false])(
  'the target that wispr.json names is said to be left out only where it is: %s',
  async (isBrought) => {
    await rig.open({ timestampBy: 'publisher', publish: A });
    await rig.made.protect();
    if (isBrought) await publish(A);
    await publish(B);
    const confirmed = await confirm(1);
    expect(confirmed).toMatchObject({ target: B, configured: A, besides: isBrought ? [A] : [] });
    const left = `it is for ${B}, where this was published last, or was on its way to, and not for ${A}, which wispr.json names: nothing was taken there`;
    expect(describePlace(confirmed)).toEqual(isBrought ? [] : [left]);
  },
);

/** Until a place shows that 1 is withdrawn, and it is remembered that it does. */
const hasItAt = async (where: string) => {
  while (JSON.stringify((await last()).owed).includes(where)) await new Promise(setImmediate);
};

describe('an output that is damaged', () => {
  beforeEach(async () => {
    await alone();
    await publish(A);
    await protectNext('<p>2');
    await publish(B);
  });
  const inOutput = (name: string) => join(rig.made.out, METADATA_PATH, name);

  it('keeps nobody from places that have what it lacks', async () => {
    await rm(inOutput('1.snapshot.json'));
    await mkdir(inOutput('1.snapshot.json'));
    await confirm(1);
    expect([await shown(A), await shown(B), (await last()).owed]).toEqual([[1, [1]], [2, [1]], []]);
  });

  it.each<[string, string, () => Promise<unknown>]>([
    ['metadata-missing', 'has no timestamp.json', () => rm(inOutput(TIMESTAMP_FILE))],
    ['metadata-mismatch', 'is damaged: ', () => writeFile(inOutput('2.snapshot.json'), '{}')],
  ])('is said to be that, and what mends it: %s', async (code, what, damage) => {
    await damage();
    await expect(confirm(2)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(`${rig.made.out} ${what}`),
      hint: expect.stringContaining('run "wispr protect"'),
    });
    await rig.made.protect();
    await confirm(2);
    expect(await shown(B)).toEqual([2, [2]]);
  });
});
