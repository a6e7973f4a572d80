/** Where the key server takes no news of what is published: what it has is looked at, and what readers find by now is said. */
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RunningKeyServer, startKeyServer } from '../../keyserver/server.ts';
import { createToken } from '../../keyserver/tokens.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { openOutput } from '../../publisher/publication/own.ts';
import { expiriesOf } from '../../publisher/publish/expiries.ts';
import { tellOfPublication } from '../../publisher/publish/key-server.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { renewerOf } from '../../publisher/publish/renew-timestamp.ts';
import { runTimestamp } from '../../publisher/timestamp/run.ts';
import { alteredTarget } from '../support/altered-target.ts';
import { configIn, temporaryFolder } from '../support/keyserver-rig.ts';
import { saidAt, saidBy, TIMESTAMP } from '../support/target-timestamp.ts';
import { TwoPlaces } from '../support/two-places.ts';
import { PASSPHRASE } from '../support/workspace.ts';

const rig = new TwoPlaces();
let folder: string;
let server: RunningKeyServer;
let access: { readonly origin: string; readonly token: string };

beforeEach(async () => {
  folder = temporaryFolder();
  const config = configIn(folder);
  server = await startKeyServer(config, { log: pino({ enabled: false }) });
  await rig.open({ keyServer: server.url, reading: server.readingUrl, timestampBy: 'publisher' });
  await copyFile(config.publicKey, join(rig.made.directory, 'keyserver.pub'));
  access = { origin: server.url, token: createToken(server.state, 'publisher', 30).token };
  rig.keyServer = server.url;
  await rig.setToken(access.token);
  await rig.made.protect();
  await rig.publish(rig.A);
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

/** What lies in the output, by a clock that is ahead; nothing here knows of it. */
async function confirmLater(): Promise<void> {
  const { out, configurationFile } = rig.made;
  const files = [join(out, TIMESTAMP), rig.workspace.lastPublished];
  const before = await Promise.all(files.map((file) => readFile(file)));
  const now = nowInSeconds() + 100;
  const { bytes } = await runTimestamp({ passphrase: PASSPHRASE, from: { configurationFile }, now });
  const expiries = await expiriesOf(await openOutput(out, { now }));
  await tellOfPublication(access, { timestamp: bytes, roots: [], expiries });
  await Promise.all(files.map((file, index) => writeFile(file, before[index] ?? '')));
}

const bytesAtKeyServer = async () => Buffer.from(await (await fetch(server.url + TIMESTAMP)).arrayBuffer());
const atKeyServer = async () => saidBy(await bytesAtKeyServer());

const publishTo = (target: Target, signal?: AbortSignal) => {
  const { workspace } = rig;
  const { out } = rig.made;
  const renewTimestamp = renewerOf(workspace, out, PASSPHRASE, nowInSeconds());
  const options = { workspace, out, target, keyServer: access, keysAreThere: true, renewTimestamp };
  return publishSite({ ...options, ...(signal && { signal }) });
};

it('a publication of the same number that another copy of the workspace made is not taken for ours', async () => {
  const memory = await readFile(rig.workspace.lastPublished);
  const putBack = await rig.copyOut(true);
  await rig.protectNext('<p>theirs');
  await rig.publish(rig.B);
  await confirmLater();
  const theirs = await bytesAtKeyServer();
  await writeFile(rig.workspace.lastPublished, memory);
  await putBack();
  await rig.protectNext('<p>ours');
  await expect(rig.publish(rig.A)).rejects.toMatchObject({ code: 'key-server-refused' });
  expect([await saidAt(rig.A), saidBy(theirs)]).toMatchObject([{ publication: 2 }, { publication: 2 }]);
  expect(await bytesAtKeyServer()).toEqual(theirs);
});

it('a key server that has confirmed this very publication knows of it, and nothing is signed for it', async () => {
  await confirmLater();
  const theirs = await bytesAtKeyServer();
  const { workspace } = rig;
  const { out } = rig.made;
  const target = await openTarget(rig.B);
  const summary = await publishSite({ workspace, out, target, keyServer: access, keysAreThere: true });
  expect(summary).toMatchObject({ publication: 1, keyServerTold: true });
  expect(await saidAt(rig.B)).toMatchObject({ publication: 1 });
  expect(await bytesAtKeyServer()).toEqual(theirs);
});

describe('where a newer timestamp has to be put than the one that readers have by then,', () => {
  beforeEach(async () => {
    await confirmLater();
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
