/** `wispr withdraw` where a place, or the key server, does not say in time what it has: nobody else waits for it, and nobody's debt is lost by that. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConfirmLimits } from '../../cli/confirm-steps.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { runTimestamp } from '../../publisher/timestamp/run.ts';
import { otherAtWork } from '../support/busy-workspace.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { readsList, SlowPlaces } from '../support/slow-place.ts';
import { saidAt, TIMESTAMP } from '../support/target-timestamp.ts';
import { ToldPlaces } from '../support/told-places.ts';
import { TwoPlaces } from '../support/two-places.ts';
import { PASSPHRASE } from '../support/workspace.ts';

/** Who is well may be late as well, on a busy machine: that comes to the same here. */
const limits: ConfirmLimits = { looking: 300, moment: 2_000 };
/** Milliseconds after which looking has ended for sure, for it began before. */
const TOO_LATE = limits.looking + 50;
const PATIENTLY = { timeout: 60_000 };

const slow = new SlowPlaces();

/** Whoever hangs until then keeps nobody from it. */
const untilShown = (where: string, expected: unknown) =>
  vi.waitFor(async () => expect(saidOf(await saidAt(where))).toEqual(expected), PATIENTLY);
const saidOf = ({ publication, withdrawn }: Awaited<ReturnType<typeof saidAt>>) => [publication, withdrawn];

describe('without a token, and so without a key server that was ever told,', () => {
  const rig = new TwoPlaces();
  const { alone, protectNext, publish, confirm, last, shown, copyOut } = rig;
  let A: string;
  let B: string;
  beforeEach(async () => {
    ({ A, B } = rig);
    await alone();
  });
  /** The output, made anew, has lost what says which files belong to a publication. */
  const forget = (version: number) => rm(join(rig.made.out, METADATA_PATH, `${version}.snapshot.json`));

  it.each<[string, () => void]>([
    ['another that is well', () => undefined],
    ['another that was late as well', () => slow.holdFor(A, TOO_LATE)],
  ])('a place that hangs keeps nobody from %s, where each alone has its files', async (_, beSlow) => {
    const putBack = await copyOut(false);
    await protectNext('<p>2');
    for (const where of [B, A]) await publish(where);
    await putBack();
    beSlow();
    const release = slow.hold(B);
    const run = confirm(2, undefined, { limits });
    await untilShown(A, [2, [2]]);
    release();
    expect(await run).toMatchObject({ target: A, besides: [B], unfinished: [] });
    expect([await shown(B), (await last()).owed]).toEqual([[2, [2]], []]);
  });

  it('nor does one that hangs at its lists, which are signed for', async () => {
    const putBack = await copyOut(false);
    await protectNext('<p>2');
    for (const where of [B, A]) await publish(where);
    await putBack();
    const release = slow.hold(A, readsList);
    const run = confirm(2, undefined, { limits: { ...limits, moment: 60_000 } });
    await untilShown(B, [2, [2]]);
    expect(await shown(A)).toEqual([2, []]);
    release();
    expect(await run).toMatchObject({ target: A, besides: [B], unfinished: [] });
    expect([await shown(A), (await last()).owed]).toEqual([[2, [2]], []]);
  });

  it('what was brought is not owed once more, where a late place turns out to show something else', async () => {
    await publish(B);
    await protectNext('<p>2');
    await publish(B, 'lost');
    await protectNext('<p>3');
    await publish(A);
    await forget(2);
    const release = slow.hold(B);
    const run = confirm(2, undefined, { limits });
    await untilShown(A, [3, [2]]);
    await vi.waitFor(async () => expect((await last()).owed).toEqual([[2, B]]), PATIENTLY);
    release();
    expect(await run).toMatchObject({ target: A, notShown: [{ target: B, shown: 1 }], unfinished: [] });
    expect([await shown(B), (await last()).owed]).toEqual([[1, []], []]);
  });

  it('what could not be signed in time stays owed, where a late place is signed for', async () => {
    await protectNext('<p>2');
    await publish(B);
    await protectNext('<p>3');
    await publish(A);
    await forget(2);
    const release = slow.hold(B);
    const other = otherAtWork(rig.workspace);
    const run = expect(confirm(2, undefined, { limits })).rejects.toMatchObject({
      code: 'workspace-busy',
      message: expect.stringMatching(`^it is signed, and at ${B}; but not at ${A}: `),
      hint: expect.stringContaining('run "wispr withdraw 2" again'),
    });
    await other.isMet;
    await other.end();
    release();
    await run;
    expect([await shown(A), await shown(B), (await last()).owed]).toEqual([[3, []], [2, [2]], [[2, A]]]);
    await confirm(2);
    expect([await shown(A), (await last()).owed]).toEqual([[3, [2]], []]);
  });

  /** Whose clock is two minutes ahead; nothing here knows of that. */
  const confirmedBySomebodyElse = async (where: string) => {
    const files = [join(rig.made.out, TIMESTAMP), rig.workspace.lastPublished];
    const before = await Promise.all(files.map((file) => readFile(file)));
    const from = { configurationFile: rig.made.configurationFile };
    const { bytes } = await runTimestamp({ passphrase: PASSPHRASE, from, now: nowInSeconds() + 120 });
    for (const [index, file] of files.entries()) await writeFile(file, before[index] ?? '');
    await writeFile(join(where, TIMESTAMP), bytes);
    return bytes;
  };

  it('what one place takes over into the output is not brought to another in place of the withdrawal', async () => {
    for (const where of [B, A]) await publish(where);
    const theirs = await confirmedBySomebodyElse(B);
    const release = slow.hold(B);
    const { out } = rig.made;
    let isTaken = false;
    slow.before(A, async (operation, path) => {
      if (isTaken || operation !== 'head' || path !== TIMESTAMP || (await saidAt(out)).withdrawn.length === 0) return;
      isTaken = true;
      release();
      await untilShown(B, [1, [1]]); // which is signed anew, for theirs is later
      await writeFile(join(out, TIMESTAMP), theirs);
    });
    expect(await confirm(1, undefined, { limits })).toMatchObject({ target: A, besides: [B], unfinished: [] });
    expect([isTaken, await shown(A), await shown(B), (await last()).owed]).toEqual([true, [1, [1]], [1, [1]], []]);
  });
});

describe('a key server that says nothing', () => {
  const rig = new TwoPlaces();
  const { open, setToken, protectNext, publish, confirm, last, shown, copyOut } = rig;
  let A: string;
  let host: ContentHost;
  let isHanging: boolean;
  beforeEach(async () => {
    ({ A } = rig);
    isHanging = false;
    host = await startContentHost();
    host.handlers.set(TIMESTAMP, (_, response) => isHanging || response.writeHead(404).end());
    host.handlers.set('/v1/publication', (request, response) => {
      request.resume().on('end', () => isHanging || response.writeHead(200).end('{}'));
    });
    rig.keyServer = host.origin;
    await open({ keyServer: host.origin, timestampBy: 'publisher' });
    await rig.made.protect();
  });
  afterEach(() => host.close());
  const TOKEN = `wispr-publish-${'a'.repeat(43)}`;

  it('keeps nothing from a place that alone has its files', async () => {
    const putBack = await copyOut(false);
    await protectNext('<p>2');
    await publish(A);
    await putBack();
    await setToken(TOKEN);
    isHanging = true;
    const run = expect(confirm(2, undefined, { limits })).rejects.toMatchObject({ code: 'key-server-unreachable' });
    await untilShown(A, [2, [2]]);
    await host.close();
    await run;
    expect((await last()).owed).toEqual([[2, 'key server']]);
  });

  it('nor where it was told once, and there is no token: it owes that, and the output was lost and made anew', async () => {
    await setToken(TOKEN);
    await publish(A);
    rig.token = undefined;
    for (const lost of [rig.made.out, rig.workspace.database]) await rm(lost, { recursive: true });
    await protectNext('<p>2');
    isHanging = true;
    expect(await confirm(1, undefined, { limits })).toMatchObject({ target: A, keyServerTold: false });
    expect([await shown(A), (await last()).owed]).toEqual([[1, [1]], [[1, 'key server']]]);
  });
});

describe('with the real key server, and its token,', () => {
  const rig = new ToldPlaces();
  const { protectNext, publish, confirm, last, shown, atKeyServer } = rig;
  /** It has to say in time what it has: by itself, it does so at once. */
  const longer: ConfirmLimits = { ...limits, looking: 1_500 };

  it('a place that shows something else, and is late, has it owe nothing of what it was told', async () => {
    const { A, B } = rig;
    await publish(B);
    await protectNext('<p>2');
    await publish(A);
    await protectNext('<p>3');
    await rm(A, { recursive: true });
    await rm(join(rig.made.out, METADATA_PATH, '1.snapshot.json'));
    const release = slow.hold(B);
    const run = confirm(2, [A], { limits: longer });
    await vi.waitFor(async () => expect(await atKeyServer()).toEqual([2, [2]]), PATIENTLY);
    await vi.waitFor(async () => expect((await last()).owed).toEqual([[2, B]]), PATIENTLY);
    release();
    expect(await run).toMatchObject({ isOnlyTold: true, notShown: [{ target: B, shown: 1 }], unfinished: [] });
    expect((await last()).owed).toEqual([]);
  });

  it('it is told by the place that is confirmed, which was late, and not by an output that was served once', async () => {
    const { A } = rig;
    await publish(null);
    await protectNext('<p>2');
    await publish(A);
    await protectNext('<p>3');
    await rm(join(rig.made.out, METADATA_PATH, '2.snapshot.json'));
    slow.holdFor(A, TOO_LATE);
    expect(await confirm(2, undefined, { limits })).toMatchObject({ keyServerTold: true, unfinished: [] });
    expect([await shown(A), await atKeyServer(), (await last()).owed]).toEqual([[2, [2]], [2, [2]], []]);
  });
});
