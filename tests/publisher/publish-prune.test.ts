/** Files that publishing removes at the target when keys have changed since. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { rotateRole } from '../../publisher/keys/change-roots.ts';
import { replacedTimes } from '../../publisher/protect/files.ts';
import { openShown, openSnapshot } from '../../publisher/publication/signed.ts';
import { sourceInDirectory } from '../../publisher/publication/sources.ts';
import { PathSet } from '../../publisher/publish/inventory.ts';
import { pruneTarget } from '../../publisher/publish/prune.ts';
import type { PublishedTarget } from '../../publisher/publish/publish.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { alteredTarget } from '../support/altered-target.ts';
import { Publishing, targetsOf } from '../support/publishing.ts';
import { createWorkspace, snapshot, type TestWorkspace } from '../support/workspace.ts';

const PAGE = '<!doctype html><title>A page</title><p data-wispr-excerpt>Teaser.</p><p>Rest.</p>';
let workspace: TestWorkspace;
let place: string;

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'wispr-prune-'));
  const files = { 'stays.html': PAGE, 'gone.html': PAGE, 'gone.css': 'p { color: red }' };
  workspace = await createWorkspace(files, { public: ['gone.css'], ...targetsOf(place) });
});
afterEach(async () => {
  vi.useRealTimers();
  await workspace.remove();
  await rm(place, { recursive: true, force: true });
});

async function publish(): Promise<PublishedTarget> {
  const { summary } = await new Publishing(workspace).publish();
  const [target] = summary.targets;
  if (target === undefined) throw new Error('it was published');
  return target;
}

async function removeDocuments(): Promise<void> {
  for (const name of ['gone.html', 'gone.css']) await rm(join(workspace.source, name));
}

const gone = async () => [...(await snapshot(place)).keys()].filter((path) => path.includes('gone')).sort();

/** Lets time pass, for this process alone. */
function pass(days: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * 86_400_000 });
}

it.each(['snapshot', 'targets'] as const)('removes what is gone although the key of %s has changed', async (role) => {
  await publish();
  await rotateRole(workspace.keyOptions, role);
  await removeDocuments();
  expect((await publish()).removed).toBe(2);
  // Readers may still ask for the objects and the content, and not for page and copy.
  expect(await gone()).toEqual([
    expect.stringMatching(/^[0-9a-f]{64}\.gone\.(css|html)/),
    expect.stringMatching(/^[0-9a-f]{64}\.gone\.(css|html)/),
    expect.stringMatching(/^[0-9a-f]{64}\.gone\.(css|html)/),
  ]);
  pass(30);
  await publish();
  expect(await gone()).toEqual([]);
  expect(await verifyTree(place)).toMatchObject({ findings: [], encrypted: 1 });
});

it('removes pages that only a publication of long ago had', async () => {
  await publish();
  const pages = new Map(['gone.html', 'gone.css'].map((name) => [name, join(place, name)]));
  const copies = await snapshot(place);
  await removeDocuments();
  await publish();
  pass(30);
  // A run that was stopped before it removed anything leaves them so.
  for (const [name, file] of pages) await writeFile(file, Buffer.from(copies.get(name) ?? '', 'base64'));
  await publish();
  for (const name of pages.keys()) expect(await gone()).not.toContain(name);
});

it('removes nothing immutable while a publication that readers may hold cannot be read', async () => {
  await publish();
  const metadata = join(place, METADATA_PATH);
  const bins = (await readdir(metadata)).filter((name) => /documents-/.test(name));
  for (const name of bins) await rm(join(metadata, name));
  await removeDocuments();
  expect((await publish()).removed).toBe(0);
  pass(30);
  expect((await publish()).removed).toBeGreaterThan(2);
});

it('keeps what a section named that was given up, as long as readers may hold the publication before', async () => {
  await workspace.configure({ sections: [{ name: 'other', paths: ['gone.*'] }] });
  await publish();
  pass(30); // the files have been there for long
  await workspace.configure({ sections: [] });
  await removeDocuments();
  expect((await publish()).removed).toBe(2); // page and copy
  expect(await gone()).toHaveLength(3);
  pass(30);
  await publish();
  expect(await gone()).toEqual([]);
});

it.each([
  ['out', undefined],
  ['a target', true],
])('removes nothing of what %s shows in weeks in which no other publication is confirmed', async (_, isAtTarget) => {
  if (!isAtTarget) {
    await workspace.configure({ publish: undefined });
    place = workspace.out;
  }
  const the = new Publishing(workspace);
  await the.publish();
  await removeDocuments();
  const refuse = { confirm: () => Promise.reject(new Error('refused')) };
  the.changes = { site: (site) => Object.assign(site, { authority: Object.assign(site.authority, refuse) }) };
  for (const text of ['one', 'two']) {
    pass(20);
    await workspace.write('stays.html', `${PAGE}<p>${text}`);
    await expect(the.publishStepwise()).rejects.toThrow('refused');
    expect(await gone()).toHaveLength(5);
  }
  await the.publish();
  expect(await gone()).toHaveLength(3); // readers may still hold the publication that was replaced just now
  pass(30);
  await the.publish();
  expect(await gone()).toEqual([]);
});

it('removes old files at a target that was away for as long as readers may ask for them', async () => {
  const shown = place;
  place = join(place, 'other');
  await workspace.configure(targetsOf(join(shown, 'one'), place));
  const the = new Publishing(workspace);
  await the.publish();
  await removeDocuments();
  await the.publish();
  expect(await gone()).toHaveLength(3);
  for (const text of ['one', 'two']) {
    pass(30);
    await workspace.write('stays.html', `${PAGE}<p>${text}`);
    await the.publish({}, join(shown, 'one'));
  }
  await the.publish();
  expect(await gone()).toEqual([]);
  place = shown;
});

it('a clock that is wrong, of the publisher or of the authority, keeps files longer', () => {
  const at = (now: number, signedAt: number) => replacedTimes({ now, signedAt, freshFor: 0, grace: 0 });
  const right = at(1e9, 1e9);
  for (const wrong of [0, 2e9]) {
    for (const { since, before } of [at(wrong, 1e9), at(1e9, wrong)]) {
      expect(since).toBeGreaterThanOrEqual(right.since);
      expect(before).toBeLessThanOrEqual(right.before);
    }
  }
});

/** Looks for what is to be removed, as publishing does, where nothing is named any more. */
async function prune(target: Target, room?: number, signal?: AbortSignal) {
  const now = nowInSeconds();
  const { roots, snapshot: signed } = await openShown(sourceInDirectory(workspace.out), 'out');
  const publication = await openSnapshot(signed, sourceInDirectory(workspace.out), roots);
  return pruneTarget({
    target,
    publication,
    named: new PathSet(),
    replacedAt: () => 0,
    before: now + 60,
    ...(room && { room }),
    ...(signal && { signal }),
  });
}

it('stops where more old metadata are listed than can be kept, and has removed none', async () => {
  await publish();
  const before = await readdir(join(place, METADATA_PATH));
  await expect(prune(await openTarget(place), 10)).rejects.toMatchObject({ code: 'target-failed' });
  expect(await readdir(join(place, METADATA_PATH))).toEqual(before);
});

describe('a run that is told to stop', () => {
  let inner: Target;
  let controller: AbortController;
  beforeEach(async () => {
    await publish();
    inner = await openTarget(place);
    controller = new AbortController();
  });

  it('looks through no listing to its end', async () => {
    const target = alteredTarget(inner, {
      list: async function* (prefix) {
        if (prefix !== '/') return yield* inner.list(prefix);
        controller.abort();
        yield { path: '/1.txt', length: 1, modified: 1, tag: '', digest: '' };
        throw new Error('nothing has stopped');
      },
    });
    expect(await prune(target, undefined, controller.signal)).toEqual({ removed: 0, waiting: 0 });
  });

  it('removes nothing more', async () => {
    const before = await snapshot(place);
    const target = alteredTarget(inner, {
      list: async function* (prefix) {
        yield* inner.list(prefix);
        if (prefix === '/') controller.abort();
      },
    });
    expect((await prune(target, undefined, controller.signal)).removed).toBe(0);
    expect(await snapshot(place)).toEqual(before);
  });

  it.each([
    ['the target, which is closed then', true, new StorageError('target-unreachable', 'it was closed'), undefined],
    ['the target before that', false, new StorageError('target-unreachable', 'it is gone'), 'it is gone'],
    ['anything else', true, new Error('a fault of ours'), 'a fault of ours'],
  ])('says what was removed until then, but where this failed: %s', async (_, isTold, error, message) => {
    let removed = 0;
    const target = alteredTarget(inner, {
      remove: async (paths) => {
        if (removed > 0 && isTold) controller.abort();
        if (removed > 0) throw error;
        await inner.remove(paths);
        removed += [...paths].length;
      },
    });
    const done = prune(target, undefined, controller.signal);
    if (message === undefined) expect((await done).removed).toBe(removed);
    else await expect(done).rejects.toThrow(message);
    expect(removed).toBeGreaterThan(0);
  });
});
