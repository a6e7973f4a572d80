/** Attack 36: somebody has a copy of the timestamp key, and the web host: until the key is changed, and after that. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { confirmFromWorkspace } from '../../cli/confirm-publication.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { signMetadata, timestampMetadata } from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { rotateRole } from '../../publisher/keys/change-roles.ts';
import { adoptTimestamp, bringTimestamp } from '../../publisher/publish/bring-timestamp.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { runTimestamp } from '../../publisher/timestamp/run.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { alteredTarget } from '../support/altered-target.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 60_000 });

const TIMESTAMP = METADATA_PATH + TIMESTAMP_FILE;
let keyServer: ContentHost;
let told: number;
let made: TestWorkspace;
let place: string;
let target: Target;
let stolen: RoleSigner;
const targets = new TargetPlaces();

beforeAll(async () => {
  keyServer = await startContentHost();
  keyServer.handlers.set(TIMESTAMP, (_, response) => response.writeHead(404).end());
  keyServer.handlers.set('/v1/publication', (request, response) => {
    told++;
    request.resume().on('end', () => response.writeHead(200).end('{}'));
  });
});
afterAll(async () => {
  await keyServer.close();
});
beforeEach(async () => {
  told = 0;
  ({ place, target } = await targets.next());
  made = await createWorkspace({ 'a.html': '<p>1' });
  await made.protect();
  await publish();
  stolen = (await made.keyStore()).signers.timestamp;
});
afterEach(() => made.remove());

const workspace = () => workspaceOf(made.configurationFile);
const publish = () => publishSite({ workspace: workspace(), out: made.out, target, keysAreThere: true });
const own = () => readFile(join(made.out, TIMESTAMP));
const said = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()).signed;
const rotate = () => rotateRole({ configurationFile: made.configurationFile, passphrase: PASSPHRASE }, 'timestamp');
const sign = (withdraw?: number) =>
  runTimestamp({ from: { configurationFile: made.configurationFile }, passphrase: PASSPHRASE, withdraw });
const places = (host = target) => ({
  workspace: workspace(),
  out: made.out,
  target: host,
  keyServer: { origin: keyServer.origin, token: 'a token' },
  now: nowInSeconds(),
});

/** For what is published, later than everybody else's. */
async function thiefSigns(withdrawn: number[], snapshot = 0): Promise<Uint8Array> {
  const { version, meta } = said(await own());
  const { version: named, length, hashes } = meta['snapshot.json'];
  const about = { version: version + 200, expires: nowInSeconds() + 7200 };
  const names = { version: snapshot || named, length, sha256: hashes.sha256 };
  return signMetadata(timestampMetadata(about, names, withdrawn), [stolen]);
}

const showing = (bytes: () => Promise<Uint8Array>) =>
  alteredTarget(target, { get: (path, maximum) => (path === TIMESTAMP ? bytes() : target.get(path, maximum)) });

it('what the thief withdrew ends with the key, and what was withdrawn here does not', async () => {
  for (const text of ['<p>2', '<p>3']) {
    await made.write('a.html', text);
    await made.protect();
    await publish();
  }
  await sign(1);
  await writeFile(join(place, TIMESTAMP), await thiefSigns([2, 3]));
  await adoptTimestamp(places());
  expect(said(await own())['x-wispr-withdrawn']).toEqual([2, 3]);
  await expect(sign()).rejects.toMatchObject({ code: 'publication-withdrawn' });
  expect((await made.protect()).publication).toMatchObject({ version: 3, isWithdrawn: true }); // as long as the key is good
  await rotate();
  expect((await made.protect()).publication).toMatchObject({ version: 3, isWithdrawn: false });
  await publish();
  await sign();
  expect(said(await own())['x-wispr-withdrawn']).toEqual([1]);
});

it('a timestamp of a key that is removed while it is fetched is not taken over', async () => {
  const bytes = await thiefSigns([1]);
  let asked = 0;
  const host = showing(async () => {
    if (asked++ === 0) {
      await rotate();
      await made.protect();
    }
    return bytes;
  });
  await adoptTimestamp(places(host));
  const after = said(await own());
  expect(after['x-wispr-withdrawn'] ?? []).toEqual([]);
  expect((await made.published()).version).toBe(1);
  await publish();
});

it.each([
  ['ever later timestamps', 'timestamp-outrun', () => thiefSigns([])],
  ['a publication that is still to come', 'target-newer', () => thiefSigns([], 9)],
])('the key server learns of a withdrawal, though the host shows %s', async (_, code, claimed) => {
  let isHonest = code === 'timestamp-outrun';
  const host = showing(async () => (isHonest ? readFile(join(place, TIMESTAMP)) : claimed()));
  await adoptTimestamp({ ...places(host), urgent: true });
  await sign(1);
  isHonest = false;
  await expect(bringTimestamp(places(host))).rejects.toMatchObject({
    code,
    message: expect.stringContaining('the key server was told'),
  });
  expect(told).toBe(1);
});

it('and though the host takes every timestamp, and goes on showing the old one', async () => {
  const old = await own();
  await sign(1);
  await expect(bringTimestamp(places(showing(async () => old)))).rejects.toMatchObject({ code: 'target-reverted' });
  expect(told).toBe(1);
});

it('nothing is signed for what only a host claims, where nothing is urgent', async () => {
  await writeFile(join(place, TIMESTAMP), await thiefSigns([], 9));
  const before = await own();
  const settings = { config: made.configurationFile };
  await expect(confirmFromWorkspace({ passphrase: PASSPHRASE }, settings)).rejects.toMatchObject({
    code: 'target-newer',
  });
  expect(await own()).toEqual(before);
});
