/** A publisher whose clock was ahead once: what it signed then nobody takes, and a new timestamp key leads out of it. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { signMetadata, timestampMetadata } from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { rotateRole } from '../../publisher/keys/change-roles.ts';
import { openPublication } from '../../publisher/publication/open.ts';
import { placeAtTarget, placeInDirectory } from '../../publisher/publication/places.ts';
import { checkClock } from '../../publisher/publish/clock-check.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import type { PublishedSnapshot } from '../../publisher/published-places.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { alteredTarget } from '../support/altered-target.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { changePublication, lastOf } from '../support/last-published.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 60_000 });

const TIMESTAMP = METADATA_PATH + TIMESTAMP_FILE;
const [HOUR, DAY] = [3600, 86_400];
let made: TestWorkspace;
let place: string;
let target: Target;
const places = new TargetPlaces();

beforeEach(async () => {
  ({ place, target } = await places.next());
  made = await createWorkspace({ 'a.html': '<p>1' }, { publish: place });
});
afterEach(async () => {
  vi.useRealTimers();
  await made.remove();
});

const setClock = (ahead: number) =>
  vi.useFakeTimers({ toFake: ['Date'], now: (Math.trunc(performance.timeOrigin / 1000) + ahead) * 1000 });
const workspace = () => workspaceOf(made.configurationFile);
const publish = (more: Partial<Parameters<typeof publishSite>[0]> = {}) =>
  publishSite({ workspace: workspace(), out: made.out, target, keysAreThere: true, ...more });
const rotate = () => rotateRole({ configurationFile: made.configurationFile, passphrase: PASSPHRASE }, 'timestamp');
const confirm = (withdraw?: number) =>
  confirmFromWorkspace({ passphrase: PASSPHRASE, withdraw }, { config: made.configurationFile });
const shown = () => openPublication(placeAtTarget(target), { now: nowInSeconds() });
const inOut = () => openPublication(placeInDirectory(made.out), { now: nowInSeconds() });
/** Another timestamp for what is in the output. */
const signInOut = async (version: number, expires = version + 2 * DAY) => {
  const snapshot = (await inOut()).state.timestamp.snapshot;
  const facts = { version: snapshot.version, length: snapshot.length ?? 0, sha256: snapshot.sha256 ?? '' };
  const { signers } = await made.keyStore();
  const content = timestampMetadata({ version, expires }, facts);
  await writeFile(join(made.out, TIMESTAMP), signMetadata(content, [signers.timestamp]));
};

const WAY_OUT = {
  code: 'clock-behind',
  message: expect.stringMatching(/this machine's clock says/),
  hint: expect.stringContaining('"wispr keys rotate timestamp" and then "wispr publish"'),
};

describe.each([
  ['five hours', 5 * HOUR],
  ['three days', 3 * DAY],
  ['31 days', 31 * DAY],
])('a publication of %s ahead', (_, ahead) => {
  beforeEach(async () => {
    await made.protect();
    await publish();
    setClock(ahead);
    await made.write('a.html', '<p>2');
    await made.protect();
    await publish();
    setClock(0);
  });

  it('stops every command, which names the way out', async () => {
    await expect(made.protect()).rejects.toMatchObject(WAY_OUT);
    await expect(publish()).rejects.toMatchObject(WAY_OUT);
    await expect(confirm()).rejects.toMatchObject(WAY_OUT);
    await expect(confirm(1)).rejects.toMatchObject(WAY_OUT);
    const { lateness } = await shown();
    expect(lateness).toMatchObject([{ code: 'clock-behind' }]);
  });

  it('is confirmed and withdrawn again after a new timestamp key', async () => {
    await rotate();
    await made.protect();
    await publish();
    const { lateness, state } = await shown();
    expect(lateness).toEqual([]);
    expect(state.timestamp.version).toBeLessThan(nowInSeconds() + 10);
    await confirm();
    await confirm(1);
    expect((await shown()).state.timestamp.withdrawn).toEqual([1]);
  });
});

describe.each([
  ['forty minutes', 40 * 60],
  ['five hours', 5 * HOUR],
  ['three days', 3 * DAY],
])('what was only protected %s ahead', (_, ahead) => {
  beforeEach(async () => {
    await made.protect();
    await publish();
  });
  const protectAhead = async (text: string) => {
    setClock(ahead);
    await made.write('a.html', text);
    await made.protect();
    setClock(0);
    expect((await inOut()).lateness).toMatchObject([{ code: 'clock-behind' }]);
  };
  const timestampIn = (directory: string) => readFile(join(directory, TIMESTAMP));

  it.each([
    ['a change', '<p>2'],
    ['no change but of the timestamp', '<p>1'],
  ])('stops nobody from confirming and withdrawing what is published, with %s', async (_, text) => {
    if (text === '<p>1') await signInOut(nowInSeconds() + ahead);
    else await protectAhead(text);
    const unfinished = await timestampIn(made.out);
    const before = (await shown()).state.timestamp.version;
    for (const withdraw of [undefined, undefined, 1]) await confirm(withdraw);
    const { state, lateness } = await shown();
    expect(lateness).toEqual([]);
    expect(state.timestamp).toMatchObject({ withdrawn: [1], snapshot: { version: 1 } });
    expect(state.timestamp.version).toBeGreaterThan(before + 2);
    expect(await timestampIn(made.out)).toEqual(unfinished);
    await expect(publish()).rejects.toMatchObject(WAY_OUT);
    await rotate();
    await made.protect();
    await publish();
    expect((await shown()).state.timestamp.withdrawn).toEqual([1]);
  });

  it('lets nobody sign below what was confirmed, whatever the host shows by now', async () => {
    const old = await timestampIn(place);
    await confirm();
    await confirm();
    const { version } = (await shown()).state.timestamp;
    await protectAhead('<p>2');
    await writeFile(join(place, TIMESTAMP), old);
    await confirm(1);
    expect((await shown()).state.timestamp.version).toBe(version + 1);
  });

  it('leaves the timestamp in the output the last one where that is of no future', async () => {
    await signInOut((await shown()).state.timestamp.version + 10);
    await confirm();
    expect(await timestampIn(made.out)).toEqual(await timestampIn(place));
  });

  it('does not count as ahead where it is this clock that is behind', async () => {
    await protectAhead('<p>2');
    setClock(-ahead);
    const before = await timestampIn(place);
    const signed = new Date((await inOut()).state.timestamp.version * 1000).toISOString().slice(0, 19);
    const message = expect.stringContaining(`signed at ${signed}`);
    await expect(confirm(1)).rejects.toMatchObject({ ...WAY_OUT, message });
    expect(await timestampIn(place)).toEqual(before);
  });

  it('is signed below by nobody where it was shown, and the run had no time to remember that', async () => {
    await signInOut(nowInSeconds() + ahead);
    await writeFile(join(place, TIMESTAMP), await timestampIn(made.out));
    await expect(confirm(1)).rejects.toMatchObject(WAY_OUT);
  });

  it('stops who does not know what was confirmed: earlier versions of wispr did not write it', async () => {
    await protectAhead('<p>2');
    const { publication } = await lastOf(workspace());
    const { timestamp: _, ...rest } = publication as PublishedSnapshot;
    await changePublication(workspace(), rest);
    await expect(confirm(1)).rejects.toMatchObject(WAY_OUT);
  });
});

it('versions count on under a key that stays', async () => {
  await made.protect();
  const before = (await inOut()).state.timestamp.version;
  await made.protect({ now: nowInSeconds() - 200 });
  expect((await inOut()).state.timestamp.version).toBe(before + 1);
});

it('what ends before it was signed is said to be of the future, by the clock that is there', async () => {
  const now = nowInSeconds();
  await made.protect();
  await signInOut(now + 3 * DAY, now + 2 * DAY);
  const opened = openPublication(placeInDirectory(made.out), { now });
  const says = new Date(now * 1000).toISOString().slice(0, 19);
  await expect(opened).rejects.toMatchObject({ ...WAY_OUT, message: expect.stringContaining(`clock says ${says}`) });
});

describe('a clock that is ahead', () => {
  let keyServer: ContentHost;
  let headers: Record<string, string>;

  beforeEach(async () => {
    keyServer = await startContentHost();
    keyServer.handlers.set(TIMESTAMP, (_, response) => response.writeHead(404, headers).end());
    setTime(nowInSeconds());
  });
  afterEach(() => keyServer.close());

  const setTime = (time: number, age = 0) => {
    headers = { date: new Date((time - age) * 1000).toUTCString(), ...(age > 0 && { age: String(age) }) };
  };
  const access = () => ({ origin: keyServer.origin, token: 'a token' });

  it('is noticed by the answer of the key server, before anything is sent', async () => {
    await made.protect();
    const now = nowInSeconds();
    setTime(now - 400);
    const refused = { code: 'clock-ahead', message: expect.stringContaining(keyServer.origin) };
    await expect(checkClock(now, { keyServer: access() })).rejects.toMatchObject(refused);
    await expect(publish({ keyServer: access() })).rejects.toMatchObject(refused);
    expect(await target.head(TIMESTAMP)).toBeUndefined();
    const { target: _, ...alone } = { workspace: workspaceOf(made.configurationFile), out: made.out, target };
    await expect(publishSite({ ...alone, keyServer: access() })).rejects.toMatchObject(refused);
    expect(keyServer.requests.map(({ method }) => method)).toEqual(['HEAD', 'HEAD', 'HEAD']);
  });

  it('is noticed by commands that confirm as well, which ask no host', async () => {
    await made.remove();
    const settings = { publish: place, keyServer: keyServer.origin, keyServerTokenFile: 'token' };
    made = await createWorkspace({ 'a.html': '<p>1' }, settings);
    await writeFile(join(made.directory, 'token'), 'a-token-for-tests-1234\n', { mode: 0o600 });
    await made.protect();
    await publish();
    setTime(nowInSeconds() - 400);
    const { version } = (await inOut()).state.timestamp;
    await expect(confirm()).rejects.toMatchObject({
      code: 'clock-ahead',
      hint: expect.stringContaining('leave out its token'),
    });
    expect((await inOut()).state.timestamp.version).toBe(version);
  });

  it('is only a word of the key server: without its token, everything is done at the target', async () => {
    await made.protect();
    const now = nowInSeconds();
    setTime(now - 400);
    const way = { code: 'clock-ahead', hint: expect.stringMatching(/leave out its token .*--keys-handed-over/) };
    await expect(checkClock(now, { keyServer: access() })).rejects.toMatchObject(way);
    await expect(publish({ keyServer: access() })).rejects.toMatchObject(way);
    await publish();
    await confirm();
    expect((await shown()).lateness).toEqual([]);
    expect(keyServer.requests).toHaveLength(2);
    const bucket = alteredTarget(target, { time: () => now - 400 });
    await expect(checkClock(now, { target: bucket })).rejects.toMatchObject({
      hint: expect.not.stringContaining('token'),
    });
  });

  it('is noticed by what a bucket answers', async () => {
    const now = nowInSeconds();
    const bucket = (time: number | undefined) => alteredTarget(target, { time: () => time });
    await expect(checkClock(now, { target: bucket(now - 400) })).rejects.toMatchObject({ code: 'clock-ahead' });
    await checkClock(now, { target: bucket(now - 200) });
    await checkClock(now, { target: bucket(undefined) });
    await checkClock(now, { target });
  });

  it('is none where an answer is from a cache, or there is none', async () => {
    const now = nowInSeconds();
    setTime(now, 5000);
    await checkClock(now, { keyServer: access() });
    headers = { date: 'yesterday' };
    await checkClock(now, { keyServer: access() });
    setTime(now - 400);
    await checkClock(now, { keyServer: access(), signal: AbortSignal.abort() });
    await keyServer.close();
    await checkClock(now, { keyServer: access() });
  });

  it('is doubted where nobody can be asked, and readers should have nothing by it', async () => {
    const doubts: string[] = [];
    const onDoubt = (doubt: string) => void doubts.push(doubt);
    await made.protect();
    await publish({ onDoubt });
    setClock(3 * DAY);
    await made.protect();
    await publish({ onDoubt, target: alteredTarget(target, { time: () => nowInSeconds() }) });
    expect(doubts).toEqual([]);
    await publish({ onDoubt }); // what is there now was signed by this clock
    setClock(6 * DAY);
    await made.protect();
    await publish({ onDoubt });
    expect(doubts).toEqual([expect.stringContaining('if they have had one, this clock is ahead')]);
  });
});
