/** `wispr withdraw` between choosing and signing: nothing else is signed than what was chosen, and nobody is left behind who fails, hangs, or is busy. */
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import { type RunningKeyServer, startKeyServer } from '../../keyserver/server.ts';
import { createToken } from '../../keyserver/tokens.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { DirectoryTarget } from '../../node-support/storage/directory.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { openOutput } from '../../publisher/publication/own.ts';
import { expiriesOf } from '../../publisher/publish/expiries.ts';
import { tellOfPublication } from '../../publisher/publish/key-server.ts';
import { runTimestamp } from '../../publisher/timestamp/run.ts';
import { withLock } from '../../publisher/workspace.ts';
import { configIn, temporaryFolder } from '../support/keyserver-rig.ts';
import { saidBy, TIMESTAMP } from '../support/target-timestamp.ts';
import { TwoPlaces } from '../support/two-places.ts';
import { PASSPHRASE } from '../support/workspace.ts';

const DAY = 86_400_000;
const rig = new TwoPlaces();
const { alone, open, setToken, protectNext, publish, confirm, last, shown, copyOut } = rig;
const { get } = DirectoryTarget.prototype;
let A: string;
let B: string;
beforeEach(() => {
  ({ A, B } = rig);
});
afterEach(() => {
  DirectoryTarget.prototype.get = get;
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** @param before - is waited for, whatever is read at a target */
const whenRead = (before: (where: string, path: string) => Promise<unknown> | undefined) => {
  DirectoryTarget.prototype.get = async function (this: DirectoryTarget, path, ...rest) {
    await before(this.name, path);
    return get.call(this, path, ...rest);
  };
};
const isList = (path: string) => path.includes('documents');

/** @param looking - milliseconds: whoever hangs, or is slow, is signed for after that, and nothing else is other by it */
const confirmSoon = (withdraw: number, looking: number) =>
  confirmFromWorkspace(
    { passphrase: PASSPHRASE, withdraw },
    {
      config: rig.made.configurationFile,
      ...(rig.token !== undefined && { tokenFile: join(rig.made.directory, 'token') }),
    },
    { limits: { looking, moment: 60_000 } },
  );

it('a place that hangs at its lists, which are signed for, holds up nobody', async () => {
  await alone();
  const putBack = await copyOut(false);
  await protectNext('<p>2');
  await publish(B);
  await publish(A);
  await putBack();
  const free = Promise.withResolvers<void>();
  whenRead((where, path) => (where === A && isList(path) ? free.promise : undefined));
  const confirming = confirmSoon(2, 300);
  try {
    await vi.waitFor(async () => expect(await shown(B)).toEqual([2, [2]]), { timeout: 30_000 });
    expect(await shown(A)).toEqual([2, []]);
  } finally {
    free.resolve();
    await confirming.catch(() => undefined); // nothing goes on behind the test
  }
  expect(await confirming).toMatchObject({ target: A, besides: [B], unfinished: [] });
  expect([await shown(A), (await last()).owed]).toEqual([[2, [2]], []]);
});

describe('with the real key server, and its token,', () => {
  let folder: string;
  let server: RunningKeyServer;

  beforeEach(async () => {
    folder = temporaryFolder();
    const config = configIn(folder);
    server = await startKeyServer(config, { log: pino({ enabled: false }) });
    await open({ keyServer: server.url, reading: server.readingUrl, timestampBy: 'publisher' });
    await copyFile(config.publicKey, join(rig.made.directory, 'keyserver.pub'));
    rig.keyServer = server.url;
    await setToken(createToken(server.state, 'publisher', 30).token);
    await rig.made.protect();
  });
  afterEach(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });
  const atKeyServer = async () => {
    const answer = await fetch(server.url + TIMESTAMP);
    const { publication, withdrawn } = saidBy(new Uint8Array(await answer.arrayBuffer()));
    return [publication, withdrawn];
  };

  it('it is not told of what is protected meanwhile, and published nowhere', async () => {
    await publish(A);
    await protectNext('<p>2');
    await publish(A);
    let protecting: Promise<void> | undefined;
    whenRead((where, path) => {
      if (where !== A || !path.endsWith('/2.snapshot.json')) return undefined;
      protecting ??= protectNext('<p>3: not to be seen yet');
      return protecting;
    });
    await expect(confirm(1)).rejects.toMatchObject({ code: 'workspace-busy' });
    expect([await shown(rig.made.out), await shown(A), await atKeyServer()]).toEqual([
      [3, []],
      [2, []],
      [2, []],
    ]);
    await confirm(1);
    expect([await shown(A), await atKeyServer(), (await last()).owed]).toEqual([[2, [1]], [2, [1]], []]);
  });

  it('it is told with what another place has, where the one that is confirmed cannot be signed for', async () => {
    const putBack = await copyOut(false);
    await protectNext('<p>2');
    await publish(A);
    await publish(B);
    await putBack();
    whenRead((where, path) => {
      if (where === B && isList(path)) throw new StorageError('target-unreachable', 'no list can be read');
      return undefined;
    });
    await expect(confirm(2)).rejects.toMatchObject({ code: 'target-unreachable' });
    expect([await shown(A), await shown(B), await atKeyServer()]).toEqual([
      [2, [2]],
      [2, []],
      [2, [2]],
    ]);
    expect((await last()).owed).toEqual([[2, B]]);
    DirectoryTarget.prototype.get = get;
    await confirm(2);
    expect([await shown(B), (await last()).owed]).toEqual([[2, [2]], []]);
  });

  /** What lies in the output, by a clock that is ahead; nothing here knows of it. */
  const confirmLater = async () => {
    const { out, configurationFile } = rig.made;
    const files = [join(out, TIMESTAMP), rig.workspace.lastPublished];
    const before = await Promise.all(files.map((file) => readFile(file)));
    const now = nowInSeconds() + 100;
    const { bytes } = await runTimestamp({ passphrase: PASSPHRASE, from: { configurationFile }, now });
    const expiries = await expiriesOf(await openOutput(out, { now }));
    const access = { origin: server.url, token: rig.token ?? '' };
    await tellOfPublication(access, { timestamp: bytes, roots: [], expiries });
    await Promise.all(files.map((file, index) => writeFile(file, before[index] ?? '')));
  };

  /** Somebody else has the lock now, until it is wanted. */
  const lockUntilWanted = async () => {
    const wanted = Promise.withResolvers<void>();
    const holding = withLock(rig.workspace, () => wanted.promise);
    const { exec } = DatabaseSync.prototype;
    vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql: string) {
      try {
        exec.call(this, sql);
      } catch (error) {
        if (sql === 'BEGIN EXCLUSIVE') wanted.resolve();
        throw error;
      }
    });
    await holding;
  };

  it('a lock that is held for a moment leaves no place behind, nor the key server', async () => {
    await protectNext('<p>2');
    await publish(A);
    const putBack = await copyOut(false);
    await confirmLater();
    await protectNext('<p>3');
    const { token } = rig;
    rig.token = undefined;
    await publish(A);
    rig.token = token;
    await putBack();
    const locking = lockUntilWanted(); // by the key server's part: nothing is known of the place by then
    whenRead((where) => (where === A ? locking : undefined));
    await confirmSoon(2, 1500); // enough for a key server, which is looked at in that time
    expect([await shown(A), await atKeyServer(), (await last()).owed]).toEqual([[3, [2]], [2, [2]], []]);
  });

  it('it is told of what it has, where a clock that was ahead has protected the site since, and no place can be opened', async () => {
    await publish(A);
    await publish(B);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + DAY });
    await protectNext('<p>2');
    vi.useRealTimers();
    for (const place of [A, B]) {
      await rm(place, { recursive: true });
      await writeFile(place, 'no directory');
    }
    await expect(confirm(1)).rejects.toMatchObject({ code: 'target-invalid' });
    expect(await atKeyServer()).toEqual([1, [1]]);
    expect((await last()).owed).toEqual([
      [1, A],
      [1, B],
    ]);
  });
});
