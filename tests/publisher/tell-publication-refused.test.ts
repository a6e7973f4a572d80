/** Where the key server takes no news of what is published: what it has is looked at, and what readers find by now is said. */
import { readFile, writeFile } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { nowInSeconds } from '../../node-support/clock.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { renewerOf } from '../../publisher/publish/renew-timestamp.ts';
import { alteredTarget } from '../support/altered-target.ts';
import { saidAt, saidBy, TIMESTAMP } from '../support/target-timestamp.ts';
import { ToldPlaces } from '../support/told-places.ts';
import { PASSPHRASE } from '../support/workspace.ts';

const rig = new ToldPlaces();
beforeEach(async () => {
  await rig.publish(rig.A);
});

const bytesAtKeyServer = async () => Buffer.from(await (await fetch(rig.keyServer + TIMESTAMP)).arrayBuffer());
const atKeyServer = async () => saidBy(await bytesAtKeyServer());

const publishTo = (target: Target, signal?: AbortSignal) => {
  const { workspace } = rig;
  const { out } = rig.made;
  const renewTimestamp = renewerOf(workspace, out, PASSPHRASE, nowInSeconds());
  const options = { workspace, out, target, keyServer: rig.access, keysAreThere: true, renewTimestamp };
  return publishSite({ ...options, ...(signal && { signal }) });
};

it('a publication of the same number that another copy of the workspace made is not taken for ours', async () => {
  const memory = await readFile(rig.workspace.lastPublished);
  const putBack = await rig.copyOut(true);
  await rig.protectNext('<p>theirs');
  await rig.publish(rig.B);
  await rig.confirmLater();
  const theirs = await bytesAtKeyServer();
  await writeFile(rig.workspace.lastPublished, memory);
  await putBack();
  await rig.protectNext('<p>ours');
  await expect(rig.publish(rig.A)).rejects.toMatchObject({ code: 'key-server-refused' });
  expect([await saidAt(rig.A), saidBy(theirs)]).toMatchObject([{ publication: 2 }, { publication: 2 }]);
  expect(await bytesAtKeyServer()).toEqual(theirs);
});

it('a key server that has confirmed this very publication knows of it, and nothing is signed for it', async () => {
  await rig.confirmLater();
  const theirs = await bytesAtKeyServer();
  const { workspace } = rig;
  const { out } = rig.made;
  const target = await openTarget(rig.B);
  const summary = await publishSite({ workspace, out, target, keyServer: rig.access, keysAreThere: true });
  expect(summary).toMatchObject({ publication: 1, keyServerTold: true });
  expect(await saidAt(rig.B)).toMatchObject({ publication: 1 });
  expect(await bytesAtKeyServer()).toEqual(theirs);
});

describe('what was withdrawn, and is published once more by somebody who does not know,', () => {
  beforeEach(async () => {
    const memory = await readFile(rig.workspace.lastPublished);
    const putBack = await rig.copyOut(false);
    await rig.confirm(1);
    await writeFile(rig.workspace.lastPublished, memory);
    await putBack();
  });

  it('is said to be withdrawn where that is as well', async () => {
    expect(await rig.publish(rig.B)).toMatchObject({ withdrawn: true, keyServerTold: true });
    expect([await rig.shown(rig.B), await rig.atKeyServer()]).toEqual([
      [1, [1]],
      [1, [1]],
    ]);
  });

  it('ends with what to do, where nobody can sign', async () => {
    const target = await openTarget(rig.B);
    const { workspace } = rig;
    await expect(publishSite({ workspace, out: rig.made.out, target, keyServer: rig.access })).rejects.toMatchObject({
      code: 'key-server-refused',
      message: expect.stringMatching(/^published, at .*; but .* it says that publication 1 is withdrawn$/),
      hint: expect.stringContaining('run "wispr withdraw 1"'),
    });
    await rig.confirm(1);
    expect([await rig.shown(rig.B), await rig.atKeyServer()]).toEqual([
      [1, [1]],
      [1, [1]],
    ]);
  });
});

it('a mend of what was withdrawn is not said to be withdrawn, where nobody can sign it above that', async () => {
  await rig.confirmLater();
  const putBack = await rig.copyOut(false);
  await rig.confirm(1);
  await putBack();
  await rig.protectNext('<p>mended');
  const target = await openTarget(rig.B);
  const { workspace } = rig;
  await expect(publishSite({ workspace, out: rig.made.out, target, keyServer: rig.access })).rejects.toMatchObject({
    code: 'key-server-refused',
    hint: expect.stringContaining('without --no-protect'),
  });
});

describe('where a newer timestamp has to be put than the one that readers have by then,', () => {
  beforeEach(async () => {
    await rig.confirmLater();
    await rig.protectNext('<p>2');
  });

  /** @param again - in place of putting the timestamp a second time. @param close - of the target */
  const failingAgain = async (again: () => Promise<void>, close: () => void = () => undefined) => {
    const honest = await openTarget(rig.A);
    let isThere = false;
    return alteredTarget(honest, {
      close,
      put: async (path, ...rest) => {
        if (path === TIMESTAMP && isThere) return again();
        await honest.put(path, ...rest);
        isThere ||= path === TIMESTAMP;
      },
    });
  };

  it('a target that fails is said to have the publication', async () => {
    const unreachable = async () => {
      throw new StorageError('target-unreachable', 'it is gone');
    };
    await expect(publishTo(await failingAgain(unreachable))).rejects.toMatchObject({
      code: 'target-unreachable',
      message: expect.stringMatching(/^published, at .*; but it is gone$/),
    });
    expect([await saidAt(rig.A), await atKeyServer()]).toMatchObject([{ publication: 2 }, { publication: 1 }]);
    await rig.publish(rig.A);
    expect(await atKeyServer()).toMatchObject({ publication: 2 });
  });

  it('a signal ends a target that hangs, and readers are said to find the publication', async () => {
    const ending = new AbortController();
    const closed = Promise.withResolvers<void>();
    const hanging = async () => {
      ending.abort();
      await closed.promise;
      throw new StorageError('target-unreachable', 'it is closed');
    };
    await expect(publishTo(await failingAgain(hanging, closed.resolve), ending.signal)).rejects.toMatchObject({
      code: 'stopped',
      message: expect.stringContaining('readers find this publication'),
    });
    expect([await saidAt(rig.A), await atKeyServer()]).toMatchObject([{ publication: 2 }, { publication: 1 }]);
  });
});
