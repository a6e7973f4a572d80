/** A publishing that is told to stop waits for no target, and says what readers find. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { StoredFile, Target } from '../../node-support/storage/target.ts';
import { rotateRole } from '../../publisher/keys/change-roles.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { untilStopped } from '../../publisher/publish/stopping.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { alteredTarget } from '../support/altered-target.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const TIMESTAMP = METADATA_PATH + TIMESTAMP_FILE;
let directory: string;
let target: Target;
let made: TestWorkspace;
let controller: AbortController;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wispr-stop-'));
  target = await openTarget(join(directory, 'served'));
  made = await createWorkspace({ 'a.html': '<p>1' });
  await made.protect();
  controller = new AbortController();
});
afterEach(async () => {
  await made.remove();
  await rm(directory, { recursive: true });
});

const publish = (host: Target) => {
  const place = { workspace: workspaceOf(made.configurationFile), out: made.out, target: host };
  return publishSite({ ...place, keysAreThere: true, signal: controller.signal });
};
const isPublished = async () => (await target.head(TIMESTAMP)) !== undefined;

/** Answers nothing more from this listing on, until it is closed; somebody presses Ctrl-C meanwhile. */
function silentAt(isMoment: (prefix: string) => Promise<boolean>): Target {
  const closed = Promise.withResolvers<never>();
  closed.promise.catch(() => undefined);
  return alteredTarget(target, {
    list: async function* (prefix) {
      if (await isMoment(prefix)) {
        setImmediate(() => controller.abort());
        await closed.promise;
      }
      yield* target.list(prefix);
    },
    close: () => closed.reject(new StorageError('target-unreachable', 'it was closed')),
  });
}

/** Lists without an end from then on. */
function endlessAt(isMoment: (prefix: string) => Promise<boolean>): Target {
  return alteredTarget(target, {
    list: async function* (prefix): AsyncGenerator<StoredFile> {
      const isNow = await isMoment(prefix);
      if (isNow) controller.abort();
      for (let number = 0; isNow; number++) {
        if (number > 10_000) throw new Error('nobody has stopped');
        yield { path: `/${number}.txt`, length: 1, modified: 1, tag: '', digest: '' };
      }
      yield* target.list(prefix);
    },
  });
}

it.each([
  ['answers nothing', silentAt],
  ['lists without an end', endlessAt],
])('while a target %s that is looked through', async (_, at) => {
  await expect(publish(at(async () => true))).rejects.toMatchObject({ code: 'stopped' });
  expect(await isPublished()).toBe(false);
});

it.each([
  ['answers nothing', silentAt, METADATA_PATH],
  ['answers nothing later', silentAt, '/'],
  ['lists without an end', endlessAt, METADATA_PATH],
  ['lists without an end later', endlessAt, '/'],
])('while a target %s that is tidied up: everything is published by then', async (_, at, prefix) => {
  const host = at(async (asked) => asked === prefix && (await isPublished()));
  expect(await publish(host)).toMatchObject({ publication: 1, removed: 0 });
  expect(await isPublished()).toBe(true);
  expect(controller.signal.aborted).toBe(true);
});

describe('what is ended at any moment', () => {
  it('is ended at once where that was told to before it began', async () => {
    let isClosed = false;
    const host = alteredTarget(target, {
      close: () => {
        isClosed = true;
      },
    });
    controller.abort();
    const work = untilStopped(host, controller.signal, async () => {
      if (isClosed) throw new StorageError('target-unreachable', 'it was closed');
    });
    await expect(work).rejects.toMatchObject({ code: 'stopped' });
  });

  it('says what else went wrong: only the target fails because it is closed', async () => {
    const work = untilStopped(target, controller.signal, async () => {
      controller.abort();
      throw new Error('a fault of ours');
    });
    await expect(work).rejects.toThrow('a fault of ours');
  });
});

it('before it has begun: nothing is sent', async () => {
  controller.abort();
  await expect(publish(target)).rejects.toMatchObject({ code: 'stopped' });
  expect(await isPublished()).toBe(false);
});

describe('a failure at the timestamp', () => {
  const full = (isWithHint = false, isFull = (path: string) => path === TIMESTAMP) =>
    alteredTarget(target, {
      put: async (path, ...rest) => {
        if (!isFull(path)) return target.put(path, ...rest);
        throw new StorageError('target-failed', 'it is full', isWithHint ? { hint: 'make room' } : {});
      },
    });

  it('says that readers find this publication, or the one before, and what to do; one that comes earlier, which', async () => {
    await publish(target);
    await made.write('a.html', '<p>2');
    await made.protect();
    const finding = (which: string) => expect.stringMatching(`^readers find ${which}; run "wispr publish" again`);
    const earlier = publish(full(false, () => true));
    await expect(earlier).rejects.toMatchObject({ message: 'it is full', hint: finding('the publication before') });
    const hint = finding('this publication, or the one before');
    await expect(publish(full())).rejects.toMatchObject({ code: 'target-failed', message: 'it is full', hint });
    const message = 'it is full; readers may find this publication already';
    await expect(publish(full(true))).rejects.toMatchObject({ message, hint: 'make room' });
  });

  it.each(['targets', 'snapshot', 'timestamp'] as const)(
    'after a new root with another key of %s says that readers may have nothing, and a repeat mends it',
    async (role) => {
      await publish(target);
      await rotateRole({ configurationFile: made.configurationFile, passphrase: PASSPHRASE }, role);
      await made.protect();
      const message = expect.stringMatching(/^it is full; readers may have no publication/);
      const hint = expect.stringContaining('run "wispr publish" again');
      await expect(publish(full(true))).rejects.toMatchObject({ code: 'target-failed', message, hint });
      await publish(target);
      expect(await publish(target)).toMatchObject({ sent: { files: 0 } });
    },
  );

  it('says so as well where a signal came after the new root', async () => {
    await publish(target);
    await rotateRole({ configurationFile: made.configurationFile, passphrase: PASSPHRASE }, 'snapshot');
    await made.protect();
    const host = alteredTarget(target, {
      put: async (path, ...rest) => {
        await target.put(path, ...rest);
        if (path.endsWith('.root.json')) controller.abort();
      },
    });
    await expect(publish(host)).rejects.toMatchObject({
      code: 'stopped',
      message: expect.stringMatching(/^stopped; readers may have no publication/),
    });
  });

  it('says nothing of the kind where there was nothing before', async () => {
    await rotateRole({ configurationFile: made.configurationFile, passphrase: PASSPHRASE }, 'snapshot');
    await made.protect();
    await expect(publish(full(true))).rejects.toMatchObject({ message: expect.not.stringContaining('no publication') });
  });
});
