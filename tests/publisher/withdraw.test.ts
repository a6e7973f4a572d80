/** Publishing to a list of targets, withdrawing, confirming: without a key server. */
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Target } from '../../node-support/storage/target.ts';
import { rollBack } from '../../publisher/publish/rollback.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { alteredTarget, unreachable } from '../support/altered-target.ts';
import { Publishing, pairAt, publicationAt, targetsOf } from '../support/publishing.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { createWorkspace, type TestWorkspace } from '../support/workspace.ts';

const places = new TargetPlaces();
let A: string;
let B: string;
let made: TestWorkspace;
let the: Publishing;

beforeEach(async () => {
  [{ place: A }, { place: B }] = [await places.next(), await places.next()];
  made = await createWorkspace({ 'a.html': '<p>1' }, targetsOf(A, B));
  the = new Publishing(made);
});
afterEach(() => made.remove());

const shown = () => Promise.all([publicationAt(A), publicationAt(B)]);

describe('wispr publish', () => {
  it('publishes to every target, and names those that are left behind', async () => {
    await the.publish();
    await made.write('a.html', '<p>2');
    the.changes = { target: unreachable(B) };
    const { summary } = await the.publish();
    expect(summary).toMatchObject({ publication: 2, targets: [{ target: A }], behind: [{ target: B }] });
    expect(await shown()).toEqual([2, 1]);
    the.changes = {};
    expect((await the.publish()).summary).toMatchObject({ publication: 2, behind: [] });
    expect(await shown()).toEqual([2, 2]);
  });

  it('changes nothing where no target can be reached', async () => {
    await the.publish();
    await made.write('a.html', '<p>2');
    the.changes = { target: (target) => unreachable(target.name)(target) };
    await expect(the.publish()).rejects.toMatchObject({ code: 'target-unreachable' });
    the.changes = {};
    expect(await the.confirm()).toMatchObject({ publication: 1 });
  });

  it('protects without a timestamp: what is not published yet is not shown', async () => {
    await the.publish();
    await made.write('a.html', '<p>2');
    await made.protect();
    expect(await publicationAt(made.out)).toBe(1);
    expect(await the.confirm()).toMatchObject({ publication: 1, targets: [A, B] });
    expect((await the.publish({ protect: undefined })).summary).toMatchObject({ publication: 2 });
  });

  it('publishes once to a target that wispr.json does not name', async () => {
    const { place: C } = await places.next();
    await the.publish();
    expect(await the.places(C)).toMatchObject({ isUnlisted: true });
    expect(await the.places(A)).toMatchObject({ isUnlisted: false });
    expect((await the.publish({}, C)).summary).toMatchObject({ targets: [{ target: C }] });
    expect(await publicationAt(C)).toBe(1);
  });
});

describe('wispr withdraw', () => {
  it('makes a closing publication above everything seen, and publishing ends it', async () => {
    await the.publish();
    await made.write('a.html', '<p>2');
    await made.protect(); // number 2 is used
    expect(await the.withdraw()).toMatchObject({ outcome: 'withdrawn', publication: 3, closed: true, behind: [] });
    expect(await shown()).toEqual([3, 3]);
    expect((await the.publish()).summary).toMatchObject({ publication: 4 });
    expect(await shown()).toEqual([4, 4]);
  });

  it('is not left withdrawn in silence where nothing has changed since', async () => {
    await the.publish();
    await the.withdraw();
    const { summary, protection } = await the.publish();
    expect([summary.publication, protection?.changes]).toMatchObject([3, { added: 0, changed: 0 }]);
    await the.withdraw();
    await expect(the.publish({ protect: undefined })).rejects.toMatchObject({
      code: 'publication-older',
      message: `${made.out} holds publication 3, which publication 4 has withdrawn: readers refuse the site until it is published anew`,
      fields: { version: 3, current: 4 },
    });
    expect(await shown()).toEqual([4, 4]);
  });

  it('signs nothing anew the second time, and brings it to a target that lacks it', async () => {
    await the.publish();
    the.changes = { target: unreachable(B) };
    expect(await the.withdraw()).toMatchObject({ publication: 2, targets: [A], behind: [{ target: B }] });
    the.changes = {};
    expect(await the.withdraw()).toMatchObject({ outcome: 'already withdrawn', publication: 2, behind: [] });
    expect(await shown()).toEqual([2, 2]);
  });

  it('is not delayed by a target that hangs', async () => {
    await the.publish();
    const hang = () => new Promise<never>(() => undefined);
    const target = (inner: Target) =>
      inner.name === B ? alteredTarget(inner, { get: hang, head: hang, upload: hang }) : inner;
    the.changes = { target, options: { targetLimit: 1000 } };
    let isDone = false;
    const withdrawing = the.withdraw().finally(() => {
      isDone = true;
    });
    await expect.poll(() => publicationAt(A), { interval: 5 }).toBe(2);
    expect(isDone).toBe(false);
    expect(await withdrawing).toMatchObject({ behind: [{ target: B, code: 'target-unreachable' }] });
  });

  it('is confirmed by wispr timestamp, which brings it to a target that lacks it', async () => {
    await the.publish();
    the.changes = { target: unreachable(B) };
    await the.withdraw();
    the.changes = {};
    expect(await the.confirm()).toMatchObject({ publication: 2, closed: true, targets: [A, B] });
    expect(await shown()).toEqual([2, 2]);
  });
});

it('wispr rollback names what was withdrawn, where nothing was before it', async () => {
  await the.publish();
  await the.withdraw();
  const back = (version?: number) => the.on((site) => rollBack(site, version, async () => undefined));
  const message = expect.stringContaining('`wispr rollback 1` shows the withdrawn ones again');
  await expect(back()).rejects.toMatchObject({ code: 'publication-missing', message });
  expect(await back(1)).toMatchObject({ plan: { from: 2, to: 1 } });
  expect((await verifyTree(A)).findings).toEqual([]);
});

describe('wispr timestamp', () => {
  it('moves the timestamp on at every target, and leaves the publication', async () => {
    let now = Math.floor(Date.now() / 1000);
    the.changes = { options: { now: () => now } };
    await the.publish();
    const before = await pairAt(A);
    now += 3600;
    await the.confirm();
    expect(await pairAt(A)).toEqual([before[0], now]);
    expect(await pairAt(B)).toEqual(await pairAt(A));
  });

  it('puts nothing where the publication does not lie', async () => {
    await the.publish();
    await rm(B, { recursive: true });
    expect(await the.confirm()).toMatchObject({ targets: [A], behind: [{ target: B, code: 'target-behind' }] });
    expect(await publicationAt(B)).toBe(0);
  });
});
