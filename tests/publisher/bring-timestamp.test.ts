/** A timestamp that was signed apart from a publication, on its way to where readers find it, while others are at work there. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { rotateRole } from '../../publisher/keys/change-roles.ts';
import { readLastPublished } from '../../publisher/last-published.ts';
import { metadataIn } from '../../publisher/publication/places.ts';
import { adoptTimestamp, bringTimestamp } from '../../publisher/publish/bring-timestamp.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { renewerOf } from '../../publisher/publish/renew-timestamp.ts';
import { runTimestamp } from '../../publisher/timestamp/run.ts';
import { signTimestamp, withdrawVersion } from '../../publisher/timestamp/sign-timestamp.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { withLock, workspaceOf } from '../../publisher/workspace.ts';
import { alteredTarget, interrupted } from '../support/altered-target.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { saidAt } from '../support/target-timestamp.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 60_000 });

const TIMESTAMP = `${METADATA_PATH}timestamp.json`;
let made: TestWorkspace;
let place: string;
let target: Target;
const places = new TargetPlaces();

beforeEach(async () => {
  ({ place, target } = await places.next());
  made = await createWorkspace({ 'a.html': '<p>1' });
  await made.protect();
  await publish();
});
afterEach(() => made.remove());

const publish = () =>
  publishSite({ workspace: workspaceOf(made.configurationFile), out: made.out, target, keysAreThere: true });
const sign = (directory: string, withdraw?: number) => {
  const from = { configurationFile: made.configurationFile };
  return runTimestamp({
    from,
    own: metadataIn(join(directory, METADATA_PATH)),
    passphrase: PASSPHRASE,
    withdraw,
  });
};
/** By somebody who has the timestamp key, and knows nothing of what the workspace has signed since. */
const signElsewhere = async (directory: string, withdraw?: number) => {
  const { signers, rootId } = await made.keyStore();
  const options = { signer: signers.timestamp, rootId, now: nowInSeconds() };
  const at = { ...options, own: metadataIn(join(directory, METADATA_PATH)) };
  return withdraw === undefined ? signTimestamp(at) : withdrawVersion(withdraw, at);
};
const adopting = () => ({
  workspace: workspaceOf(made.configurationFile),
  out: made.out,
  target,
  now: nowInSeconds(),
});
const bring = (out: string, to = target) => bringTimestamp({ out, target: to, now: nowInSeconds() });
const there = () => saidAt(place);
const copyOf = async () => {
  const copy = `${place}-copy`;
  await cp(made.out, copy, { recursive: true });
  return copy;
};

it('does not undo a publication that arrives at the same moment', async () => {
  const older = await copyOf();
  await sign(older, 1);
  await made.write('a.html', '<p>2');
  await made.protect();
  await expect(bring(older, interrupted(target, publish))).rejects.toMatchObject({ code: 'target-newer' });
  expect(await there()).toEqual({ publication: 2, withdrawn: [1] });
  expect((await verifyTree(place)).findings).toEqual([]);
});

it('is not taken for done where somebody has confirmed meanwhile what it withdraws', async () => {
  const keyServer = await copyOf();
  await sign(made.out, 1);
  const confirm = async () => {
    await signElsewhere(keyServer);
    await signElsewhere(keyServer); // each newer than the one before
    await bring(keyServer);
  };
  await expect(bring(made.out, interrupted(target, confirm))).rejects.toMatchObject({ code: 'timestamp-outrun' });
  expect(await there()).toEqual({ publication: 1, withdrawn: [] });
  await adoptTimestamp(adopting());
  await sign(made.out, 1);
  await bring(made.out);
  expect(await there()).toEqual({ publication: 1, withdrawn: [1] });
});

it('is not adopted over what is protected meanwhile, nor while something is', async () => {
  const keyServer = await copyOf();
  await sign(keyServer);
  await bring(keyServer);
  const { workspace, ...places } = adopting();
  const busy = withLock(workspace, () => adoptTimestamp({ workspace, ...places }));
  await expect(busy).rejects.toMatchObject({ code: 'workspace-busy' });
  const slow = alteredTarget(target, {
    get: async (path, maximum) => {
      const bytes = await target.get(path, maximum);
      if (path === TIMESTAMP) await made.write('a.html', '<p>2').then(() => made.protect());
      return bytes;
    },
  });
  await adoptTimestamp({ ...adopting(), target: slow });
  expect((await made.published()).version).toBe(2);
});

it('is not adopted where it is of the future, by a clock that is ahead', async () => {
  const ahead = await copyOf();
  const { signers, rootId } = await made.keyStore();
  const own = metadataIn(join(ahead, METADATA_PATH));
  await signTimestamp({ own, signer: signers.timestamp, rootId, now: nowInSeconds() + 3600 });
  await cp(join(ahead, TIMESTAMP), join(place, TIMESTAMP));
  const before = await readFile(join(made.out, TIMESTAMP));
  await adoptTimestamp(adopting());
  expect(await readFile(join(made.out, TIMESTAMP))).toEqual(before);
  await sign(made.out); // or the clock of this machine would be behind what it signed last
});

it('is adopted only where it is newer, and of this very publication', async () => {
  const before = await copyOf();
  const first = await readFile(join(made.out, TIMESTAMP));
  await sign(made.out);
  const own = await readFile(join(made.out, TIMESTAMP));
  await adoptTimestamp(adopting()); // the target has an older one
  expect(await readFile(join(made.out, TIMESTAMP))).toEqual(own);
  expect(own).not.toEqual(first);
  await made.write('a.html', '<p>2');
  await made.protect();
  await publish();
  const second = await readFile(join(made.out, TIMESTAMP));
  for (let time = 0; time < 4; time++) await sign(before);
  await cp(join(before, TIMESTAMP), join(place, TIMESTAMP)); // the publication before, confirmed later
  await adoptTimestamp(adopting());
  expect(await readFile(join(made.out, TIMESTAMP))).toEqual(second);
});

it('says nothing where the target has another snapshot or root', async () => {
  for (const name of ['1.snapshot.json', '1.root.json']) {
    const file = join(place, METADATA_PATH, name);
    const good = await readFile(file);
    await writeFile(file, Buffer.from(good).fill('x', 200, 201));
    await expect(adoptTimestamp(adopting())).rejects.toMatchObject({ code: 'target-behind' });
    await writeFile(file, good);
  }
});

it('gives way to a newer one that says as much', async () => {
  const keyServer = await copyOf();
  await sign(made.out);
  await sign(keyServer);
  await sign(keyServer);
  await bring(keyServer);
  const newest = await readFile(join(place, TIMESTAMP));
  await bring(made.out);
  expect(await readFile(join(place, TIMESTAMP))).toEqual(newest);
});

it.each(['a.html', undefined])('says nothing of a publication, or a root, that is not there yet', async (page) => {
  const before = await readFile(join(place, TIMESTAMP));
  if (page === undefined)
    await rotateRole({ configurationFile: made.configurationFile, passphrase: PASSPHRASE }, 'timestamp');
  else await made.write(page, '<p>2');
  await made.protect();
  const behind = { code: 'target-behind' };
  await expect(adoptTimestamp(adopting())).rejects.toMatchObject(behind);
  await sign(made.out);
  await expect(bring(made.out)).rejects.toMatchObject(behind);
  expect(await readFile(join(place, TIMESTAMP))).toEqual(before);
  await publish();
  await sign(made.out);
  await bring(made.out);
  expect((await verifyTree(place)).findings).toEqual([]);
});

it.each(['publish', 'wispr timestamp'])(
  'what was withdrawn elsewhere is not undone by a newer one of %s',
  async (how) => {
    const workspace = workspaceOf(made.configurationFile);
    await signElsewhere(place, 1);
    await made.protect(); // signs a newer timestamp, which says nothing of it
    await sign(made.out);
    if (how === 'publish') {
      await expect(publish()).rejects.toMatchObject({ code: 'timestamp-outrun' });
      const renewTimestamp = renewerOf(workspace, made.out, PASSPHRASE, nowInSeconds());
      const { withdrawn } = await publishSite({ workspace, out: made.out, target, keysAreThere: true, renewTimestamp });
      expect(withdrawn).toBe(true);
    } else {
      await adoptTimestamp(adopting());
      await expect(sign(made.out)).rejects.toMatchObject({ code: 'publication-withdrawn' });
    }
    expect(await there()).toEqual({ publication: 1, withdrawn: [1] });
    expect(await readLastPublished(workspace)).toMatchObject({ withdrawn: [], elsewhere: [{ versions: [1] }] });
  },
);
