/** Going on after an upload that ended between root and timestamp, where nobody tells the key server: no set is new by that, whatever the host shows. */
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { rotateRole } from '../../publisher/keys/change-roles.ts';
import type { OnlineRole } from '../../publisher/keys/key-store.ts';
import { type PublishOptions, publishSite } from '../../publisher/publish/publish.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { alteredTarget } from '../support/altered-target.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 60_000 });

const TIMESTAMP = METADATA_PATH + TIMESTAMP_FILE;
let made: TestWorkspace;
let place: string;
let target: Target;
const places = new TargetPlaces();

beforeEach(async () => {
  ({ place, target } = await places.next());
  made = await createWorkspace({ 'a.html': '<p>1' });
  await made.protect();
  await publish({ keysAreThere: true });
});
afterEach(() => made.remove());

const workspace = () => workspaceOf(made.configurationFile);
/** By hand: without a token, and without a word about keys. */
const publish = (more: Partial<PublishOptions> = {}) =>
  publishSite({ workspace: workspace(), out: made.out, target, ...more });
const rotate = (role: OnlineRole) =>
  rotateRole({ configurationFile: made.configurationFile, passphrase: PASSPHRASE }, role);
const found = async () => (await verifyTree(place)).findings.map(({ path, code }) => `${path} ${code}`);
/** An upload that ends right before its last step. */
const full = (failure: StorageError) =>
  alteredTarget(target, {
    put: async (path, ...rest) => {
      if (path === TIMESTAMP) throw failure;
      return target.put(path, ...rest);
    },
  });
const endBehindTheRoot = async (
  more: Partial<PublishOptions> = {},
  failure = new StorageError('target-failed', 'full'),
) => {
  const target = full(failure);
  const ended = await publish({ ...more, target }).catch((error: unknown) => error);
  expect(await found()).not.toEqual([]);
  return ended as StorageError;
};
const AS_NEW = { code: 'keys-not-handed-over', message: expect.stringContaining('there are sets with new keys') };
const UNKNOWN = { code: 'keys-not-handed-over', message: expect.stringContaining('it cannot be known') };

describe.each(['targets', 'snapshot'] as const)('behind a root with another key of the %s', (role) => {
  it.each(['<p>1', '<p>2'])('"wispr publish" again goes on, with the text %s', async (text) => {
    await rotate(role);
    await made.write('a.html', text);
    await made.protect();
    const { message, hint } = await endBehindTheRoot();
    expect(message).toContain('readers may have no publication until this is finished');
    expect(hint).toBe('run "wispr publish" again, and it goes on from here');
    expect(await publish()).toMatchObject({ publication: 2 });
    expect(await found()).toEqual([]);
  });
});

it('a set whose key is new is still to be handed over, however the upload ends', async () => {
  await rotate('targets');
  await made.protect({ rekey: ['subscribers'] });
  await endBehindTheRoot({ keysAreThere: true });
  await expect(publish()).rejects.toMatchObject(AS_NEW);
  expect(await publish({ keysAreThere: true })).toMatchObject({ publication: 2 });
});

describe('what is published and lost at the host', () => {
  it('needs no keys again, where it was published from here', async () => {
    await rm(join(place, METADATA_PATH), { recursive: true });
    expect(await publish()).toMatchObject({ publication: 1 });
    expect(await found()).toEqual([]);
  });

  it('is remembered for the target that it was published to', async () => {
    const other = await openTarget(`${place}-other`);
    await expect(publish({ target: other })).rejects.toMatchObject(AS_NEW);
  });

  it('cannot be told where nothing is remembered, and that is what is said', async () => {
    await made.write('a.html', '<p>2');
    await made.protect();
    await rm(join(place, METADATA_PATH), { recursive: true });
    const remembered = await readFile(workspace().lastPublished);
    await rm(workspace().lastPublished);
    await expect(publish()).rejects.toMatchObject(UNKNOWN);
    await writeFile(workspace().lastPublished, remembered);
    expect(await publish()).toMatchObject({ publication: 2 });
  });

  it('cannot be told where its metadata are nowhere any more', async () => {
    await made.write('a.html', '<p>2');
    await made.protect();
    await rm(join(place, METADATA_PATH), { recursive: true });
    await rm(join(made.out, METADATA_PATH, '1.snapshot.json'));
    await expect(publish()).rejects.toMatchObject(UNKNOWN);
  });

  it('cannot be told where one of its lists is nowhere any more', async () => {
    await made.write('a.html', '<p>2');
    await made.protect();
    await rm(join(place, METADATA_PATH), { recursive: true });
    const replaced = (await readdir(join(made.out, METADATA_PATH))).filter((name) => /^2\.documents-/.test(name));
    expect(replaced).toHaveLength(1);
    for (const name of replaced) await rm(join(made.out, METADATA_PATH, name.replace('2.', '1.')));
    await expect(publish()).rejects.toMatchObject(UNKNOWN);
  });

  it('is told by what is remembered where the host shows an older one', async () => {
    const old = `${place}-old`;
    await cp(place, old, { recursive: true });
    await made.protect({ rekey: ['subscribers'] });
    await publish({ keysAreThere: true });
    await rm(place, { recursive: true });
    await cp(old, place, { recursive: true });
    await made.write('a.html', '<p>3');
    await made.protect();
    expect(await publish()).toMatchObject({ publication: 3 });
  });
});

it.each([
  [
    'let this user read and write it, or name another directory',
    'let this user read and write it; then run "wispr publish" again, and it goes on from here',
  ],
  ['run the same command again: it goes on', 'run the same command again: it goes on'],
])('what has to be mended first stays said: %s', async (hint, said) => {
  await rotate('targets');
  await made.protect();
  const denied = await endBehindTheRoot({}, new StorageError('target-denied', 'denied', { hint }));
  expect(denied.hint).toBe(said);
});
