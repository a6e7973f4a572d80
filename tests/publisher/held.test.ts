/** Publications that `wispr publish --at` signed and never sent: nothing else brings them to readers in silence. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { nowInSeconds } from '../../node-support/clock.ts';
import { heldFact, heldIn } from '../../publisher/publication/held.ts';
import type { PublishRun } from '../../publisher/publish/publish.ts';
import { rollBack } from '../../publisher/publish/rollback.ts';
import { unwritable } from '../support/altered-target.ts';
import { Publishing, publicationAt, targetsOf } from '../support/publishing.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { createWorkspace, snapshot, type TestWorkspace } from '../support/workspace.ts';

const places = new TargetPlaces();
let place: string;
let made: TestWorkspace;
let the: Publishing;
let until: number;

/** Publication 1 has been sent; 2 has the embargoed text, and was given up while it waited. */
beforeEach(async () => {
  ({ place } = await places.next());
  made = await createWorkspace({ 'a.html': '<p>One', 'b.html': '<p>Other' }, targetsOf(place));
  the = new Publishing(made);
  await the.publish();
  await made.write('a.html', '<p>Embargoed');
  await giveUp();
});
afterEach(() => made.remove());

async function giveUp(run: Partial<PublishRun> = {}): Promise<void> {
  const ending = new AbortController();
  until = nowInSeconds() + 3600;
  const waits = { at: until, onWaiting: () => ending.abort(), signal: ending.signal, ...run };
  const before = await snapshot(place);
  await expect(the.publish(waits)).rejects.toMatchObject({ code: 'stopped' });
  expect(await snapshot(place)).toEqual(before);
}

const held = () => the.on(async ({ index }) => [...heldIn(index).keys()]);
const rollback = (version?: number) => the.on((site) => rollBack(site, version, async () => undefined));
const alone = () => the.publish({ inTurn: 0, protect: { only: ['/b.html'] } });
const neverSent = { code: 'publication-missing', message: expect.stringContaining('never sent') };
const notAlone = { code: 'not-alone', message: expect.stringMatching(/publication \d, held back until .*never sent/) };

it('is passed over by a rollback, and refused by number, after the text was taken out', async () => {
  await made.write('a.html', '<p>Without');
  await the.publish();
  expect(await publicationAt(place)).toBe(3);
  await expect(rollback(2)).rejects.toMatchObject(neverSent);
  expect((await rollback()).plan).toMatchObject({ from: 3, to: 1 });
});

it('is passed over by a rollback from a withdrawal, which names what was withdrawn', async () => {
  await the.withdraw();
  const message = expect.stringContaining('`wispr rollback 1` shows the withdrawn ones again');
  await expect(rollback()).rejects.toMatchObject({ code: 'publication-missing', message });
});

it('is not sent with a document that is published alone, until it was taken back', async () => {
  await made.write('b.html', '<p>Corrected');
  await expect(alone()).rejects.toMatchObject(notAlone);
  expect(await publicationAt(place)).toBe(1);
  await made.write('a.html', '<p>One');
  await the.publish();
  await made.write('b.html', '<p>Corrected again');
  expect((await alone()).summary.publication).toBe(4);
});

it('is held back with what is protected over it', async () => {
  await made.write('b.html', '<p>Corrected');
  await made.protect();
  expect(await held()).toEqual([2, 3]);
  await expect(alone()).rejects.toMatchObject(notAlone);
  await made.write('a.html', '<p>Without');
  await the.publish();
  expect((await rollback()).plan.to).toBe(1);
});

it('is sent by the next run, which says so, and can be gone back to from then on', async () => {
  const said: (readonly [number, number])[] = [];
  const { summary } = await the.publish({ onHeld: (...what) => said.push(what) });
  expect(summary.publication).toBe(2);
  expect(said).toEqual([[2, until]]);
  expect(await held()).toEqual([]);
  await made.write('a.html', '<p>A mistake');
  await the.publish();
  expect((await rollback()).plan.to).toBe(2);
});

it('stays held back where an upload of it ended before readers could have it', async () => {
  the.changes = { target: unwritable() };
  await expect(the.publish()).rejects.toMatchObject({ code: 'target-unreachable' });
  the.changes = {};
  expect(await held()).toEqual([2]);
});

it('is noted where it was protected before, and not where readers have it', async () => {
  await the.publish();
  await giveUp();
  expect(await held()).toEqual([]);
  await made.write('a.html', '<p>Embargoed again');
  await made.protect();
  await giveUp({ protect: undefined });
  expect(await held()).toEqual([3]);
});

it('is noted before anything else can publish it', async () => {
  await the.publish();
  await made.write('a.html', '<p>Embargoed again');
  const onProtected = () => {
    throw new Error('killed');
  };
  await expect(the.publish({ at: until, onProtected })).rejects.toThrow('killed');
  expect(await held()).toEqual([3]);
});

it('is remembered a hundred times, the newest', () => {
  const versions = Array.from({ length: 101 }, (_, version) => [version, 0] as const);
  expect(JSON.parse(heldFact(new Map(versions)))).toEqual(versions.slice(1));
});
