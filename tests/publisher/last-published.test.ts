/** What a workspace remembers of what was published from it: neither a withdrawn publication nor an old place comes back. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { rememberPublished } from '../../publisher/last-published.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { renewerOf } from '../../publisher/publish/renew-timestamp.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { type Workspace, workspaceOf } from '../../publisher/workspace.ts';
import { startContentHost } from '../support/content-host.ts';
import { lastOf } from '../support/last-published.ts';
import { saidAt } from '../support/target-timestamp.ts';
import { createWorkspace, PASSPHRASE, snapshot, type TestWorkspace } from '../support/workspace.ts';

let made: TestWorkspace;
let workspace: Workspace;
let directory: string;
let place: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wispr-last-'));
  place = join(directory, 'served');
  made = await createWorkspace({ 'a.html': '<p>1' });
  workspace = workspaceOf(made.configurationFile);
  await made.protect();
});
afterEach(async () => {
  await made.remove();
  await rm(directory, { recursive: true });
});

/** As a command that was told where to. */
const publish = async () => {
  const renewTimestamp = renewerOf(workspace, made.out, PASSPHRASE, nowInSeconds());
  return publishSite({ workspace, out: made.out, target: await openTarget(place), keysAreThere: true, renewTimestamp });
};
const confirm = (withdraw?: number) =>
  confirmFromWorkspace({ passphrase: PASSPHRASE, withdraw }, { config: made.configurationFile });

it('timestamps go to where it was published last, and name what is there, whatever was only protected since', async () => {
  await publish();
  expect((await confirm()).target).toBe(place);
  await made.write('a.html', '<p>2');
  await made.protect();
  const waiting = await snapshot(made.out);
  expect((await confirm()).signed).toMatchObject({ publication: 1, withdrawn: [] });
  await expect(confirm(2)).rejects.toMatchObject({ code: 'version-unknown' }); // nobody has it
  await confirm(1);
  expect(await saidAt(place)).toEqual({ publication: 1, withdrawn: [1] });
  await expect(confirm()).rejects.toMatchObject({ code: 'publication-withdrawn' });
  expect(await snapshot(made.out)).toEqual(waiting);
  await made.protect();
  await publish();
  expect(await saidAt(place)).toEqual({ publication: 2, withdrawn: [1] });
  expect((await verifyTree(place)).findings).toEqual([]);
  // And nowhere any more, once the output itself is what is served.
  await publishSite({ workspace, out: made.out, keysAreThere: true });
  expect((await confirm()).target).toBeUndefined();
});

it('attack 28: a host that shows an older publication than was published last has nothing confirmed', async () => {
  await publish();
  const old = join(directory, 'old');
  await cp(place, old, { recursive: true });
  await made.write('a.html', '<p>2');
  await made.protect();
  await publish();
  await made.write('a.html', '<p>3');
  await made.protect();
  await rm(place, { recursive: true });
  await cp(old, place, { recursive: true });
  const before = await snapshot(place);
  for (const version of [undefined, 1]) await expect(confirm(version)).rejects.toMatchObject({ code: 'target-behind' });
  expect(await snapshot(place)).toEqual(before);
});

it('a publication is remembered though the key server refuses to learn of it', async () => {
  const host = await startContentHost();
  host.handlers.set('/v1/publication', (request, response) => {
    request.resume().on('end', () => response.writeHead(403).end('{"error":"token-refused"}'));
  });
  const [target, keyServer] = [await openTarget(place), { origin: host.origin, token: 'a token' }];
  const publishing = publishSite({ workspace, out: made.out, target, keyServer, keysAreThere: true });
  await expect(publishing).rejects.toMatchObject({ code: 'key-server-refused' });
  await host.close();
  expect(await lastOf(workspace)).toMatchObject({ target: place, publication: { version: 1 } });
});

it('what was withdrawn stays so where the output is put back from before', async () => {
  await publish();
  const before = join(directory, 'before');
  await cp(made.out, before, { recursive: true });
  await cp(workspace.database, `${before}.index`);
  await confirm(1);
  await rm(made.out, { recursive: true });
  await cp(before, made.out, { recursive: true });
  await cp(`${before}.index`, workspace.database);
  const { publication } = await made.protect();
  expect(publication).toMatchObject({ version: 1, isWithdrawn: true });
  expect(await saidAt(made.out)).toEqual({ publication: 1, withdrawn: [1] });
  await expect(confirm()).rejects.toMatchObject({ code: 'publication-withdrawn' });
});

it('and where output and index are lost: then what is published may be the same again, and that is said', async () => {
  await publish();
  await confirm(1);
  await rm(made.out, { recursive: true });
  await rm(workspace.database);
  const { publication, recovered } = await made.protect();
  expect(publication).toMatchObject({ version: 2, isWithdrawn: false, mayRepeat: 1 });
  expect(recovered.join()).toContain('publication 1 was withdrawn');
  expect(await saidAt(made.out)).toEqual({ publication: 2, withdrawn: [1] });
  await made.write('a.html', '<p>2');
  expect((await made.protect()).publication).toMatchObject({ version: 3, mayRepeat: undefined });
});

describe('what earlier versions of wispr wrote', () => {
  const one = (version: number) => ({ version, sha256: 'a'.repeat(64) });
  const EARLIER: [string, object, object][] = [
    [
      'a target',
      { target: '/a', withdrawn: [1] },
      { target: '/a', publication: undefined, withdrawn: [1], highest: 1, owed: [] },
    ],
    ['nothing', { target: null, withdrawn: [] }, { target: null, publication: undefined, highest: 0, owed: [] }],
    [
      'a publication',
      { target: '/a', withdrawn: [1], elsewhere: [], publication: one(2) },
      { target: '/a', publication: one(2), begun: [], highest: 2, owed: [] },
    ],
    [
      'one that had begun, at the target',
      { target: '/a', withdrawn: [], elsewhere: [], publication: one(2), begun: one(3) },
      { target: '/a', publication: one(2), begun: [{ ...one(3), target: '/a' }], highest: 3 },
    ],
    [
      'what was unfinished, and is owed by all who may have it',
      {
        ...{ target: '/a', withdrawn: [3], elsewhere: [], publication: one(2), unfinished: [3] },
        begun: [
          { ...one(3), target: '/b' },
          { ...one(4), target: '/a' },
        ],
      },
      {
        target: '/a',
        publication: one(2),
        owed: [
          [3, '/b'],
          [3, 'key server'],
        ],
        highest: 4,
      },
    ],
    [
      'what was unfinished, and may be anywhere',
      { target: null, withdrawn: [2], publication: one(2), unfinished: [2] },
      {
        target: null,
        owed: [
          [2, null],
          [2, 'key server'],
        ],
      },
    ],
  ];
  it.each(EARLIER)('is carried over: %s', async (_, written, read) => {
    await writeFile(workspace.lastPublished, JSON.stringify(written));
    const before = await lastOf(workspace);
    expect(before).toMatchObject(read);
    await rememberPublished(workspace, (last) => ({ ...last, highest: 9 }));
    expect(await lastOf(workspace)).toEqual({ ...before, highest: 9 });
  });
});

it('a damaged memory is not taken for an empty one', async () => {
  await publish();
  const good = JSON.parse(await readFile(workspace.lastPublished, 'utf8'));
  const [there] = good.places;
  const damaged = [
    ...[{ current: 1 }, { current: '/elsewhere' }, { highest: '1' }, { withdrawn: ['1'] }, { elsewhere: [1] }],
    ...[{ keyServer: {} }, { keyServer: { told: 1, owed: 1 } }, { places: {} }, { places: [there, there] }],
    ...[{ target: 1 }, { publication: {} }, { begun: [1] }, { owed: ['1'] }].map((wrong) => ({
      places: [{ ...there, ...wrong }],
    })),
  ].map((wrong) => JSON.stringify({ ...good, ...wrong }));
  for (const text of ['', '{}', '{"target":1,"withdrawn":[]}', '{"target":null,"withdrawn":["1"]}', ...damaged]) {
    await writeFile(workspace.lastPublished, text);
    await expect(made.protect()).rejects.toMatchObject({ code: 'key-store-damaged' });
    await expect(confirm(1)).rejects.toMatchObject({ code: 'key-store-damaged' });
  }
});
