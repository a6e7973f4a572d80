/** `wispr rollback`: the documents of an earlier publication, while they are kept. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { rotatePublisherKey } from '../../publisher/keys/change-roots.ts';
import { type Rollback, type RollbackPlan, rollBack } from '../../publisher/publish/rollback.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { unwritable } from '../support/altered-target.ts';
import { Publishing, publicationAt, targetsOf } from '../support/publishing.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { createWorkspace, snapshot, type TestWorkspace } from '../support/workspace.ts';

const places = new TargetPlaces();
let A: string;
let B: string;
let made: TestWorkspace;
let the: Publishing;

beforeEach(async () => {
  [{ place: A }, { place: B }] = [await places.next(), await places.next()];
  const files = { 'a.html': '<title>One</title><p>1', 'gone.html': '<p>1', 'style.css': 'p { color: red }' };
  made = await createWorkspace(files, { public: ['style.css'], ...targetsOf(A, B) });
  the = new Publishing(made);
  await the.publish();
  await made.write('a.html', '<title>A mistake</title><p>2');
  await made.write('style.css', 'p { color: blue }');
  await made.write('new.html', '<p>2');
  await rm(join(made.source, 'gone.html'));
  await the.publish();
});
afterEach(() => made.remove());

const rollback = (version?: number, confirm: (plan: RollbackPlan) => Promise<void> = async () => undefined) =>
  the.on((site) => rollBack(site, version, confirm)) as Promise<Rollback>;
const wrong = async (target = A) => (await verifyTree(target)).findings.map(({ path, code }) => `${path} ${code}`);

it('publishes the previous documents as a higher publication, and the source again with the next one', async () => {
  const { plan, summary } = await rollback();
  expect(plan).toEqual({
    ...{ from: 2, to: 1 },
    added: ['/gone.html'],
    removed: ['/new.html'],
    changed: ['/a.html', '/style.css'],
  });
  expect(summary).toMatchObject({ publication: 3, behind: [] });
  expect(await publicationAt(A)).toBe(3);
  expect(await wrong()).toEqual([]);
  expect(await readFile(join(A, 'style.css'), 'utf8')).toBe('p { color: red }');
  expect(await readFile(join(A, 'a.html'), 'utf8')).toMatch(/^(?!.*mistake).*<meta name="robots" content="noindex">/s);
  expect([...(await snapshot(A)).keys()]).not.toContain('new.html');
  const { summary: next } = await the.publish();
  expect(next).toMatchObject({ publication: 4, behind: [] });
  expect(await wrong()).toEqual([]);
  expect(await readFile(join(A, 'style.css'), 'utf8')).toBe('p { color: blue }');
  expect([...(await snapshot(A)).keys()]).not.toContain('gone.html');
});

it('ends a withdrawal, and skips what was withdrawn', async () => {
  await the.withdraw();
  expect((await rollback()).plan).toMatchObject({ from: 3, to: 1 });
  expect(await wrong()).toEqual([]);
});

it('changes nothing without a yes', async () => {
  const before = await snapshot(A);
  await expect(rollback(1, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await snapshot(A)).toEqual(before);
  expect((await the.publish()).summary).toMatchObject({ publication: 2 });
});

it('refuses what is gone, and what never was', async () => {
  await expect(rollback(2)).rejects.toMatchObject({ code: 'argument-invalid' });
  const object = [...(await snapshot(made.out)).keys()].find((path) => path.endsWith('gone.html.protected')) ?? '';
  await rm(join(made.out, object));
  await expect(rollback(1)).rejects.toMatchObject({ code: 'publication-missing' });
  expect(await publicationAt(A)).toBe(2);
});

it('is finished by the same command with the number, where a target was left behind', async () => {
  the.changes = { target: unwritable(B) };
  expect((await rollback()).summary).toMatchObject({ publication: 3, behind: [{ target: B }] });
  the.changes = {};
  const { plan, summary } = await rollback(1);
  expect(plan).toMatchObject({ from: 3, to: 1, added: [], removed: [], changed: [] });
  expect(summary).toMatchObject({ publication: 3, behind: [] });
  expect(await wrong(A)).toEqual([]);
  expect(await wrong(B)).toEqual([]);
});

it('gives no set a new key, nor does the publication after it or after a withdrawal', async () => {
  const keys = async () => (await made.keyStore()).contents.sets;
  const before = await keys();
  await rollback();
  await the.publish();
  await the.withdraw();
  const { protection } = await the.publish();
  expect(protection).toMatchObject({ recovered: [], changes: { unchanged: 3 } });
  expect(await keys()).toEqual(before);
});

it('refuses documents under keys that were replaced: new readers could not open them, others could', async () => {
  await the.publish({ protect: { rekey: ['subscribers'] } });
  await expect(rollback(2)).rejects.toMatchObject({
    code: 'publication-missing',
    message: expect.stringContaining('keys that have been replaced since'),
  });
  expect(await publicationAt(A)).toBe(3);
});

it('refuses documents that a replaced publisher key has signed', async () => {
  await rotatePublisherKey(made.keyOptions);
  await the.publish();
  await expect(rollback(2)).rejects.toMatchObject({ code: 'publication-missing' });
});
