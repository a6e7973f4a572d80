/** The key server hears of a publication last: by then it may have confirmed the one before, later than this one was signed. */
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type RunningKeyServer, startKeyServer } from '../../keyserver/server.ts';
import { createToken } from '../../keyserver/tokens.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { openOutput } from '../../publisher/publication/own.ts';
import { expiriesOf } from '../../publisher/publish/expiries.ts';
import { tellOfPublication } from '../../publisher/publish/key-server.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { runTimestamp } from '../../publisher/timestamp/run.ts';
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
  await confirmLater();
  await rig.protectNext('<p>2');
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

/** By a clock that is ahead, and of the first publication; nothing here knows of it. */
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

const atKeyServer = async () => saidBy(new Uint8Array(await (await fetch(server.url + TIMESTAMP)).arrayBuffer()));

it('a newer timestamp is signed then, and takes the place of the one that was put', async () => {
  await rig.publish(rig.A);
  expect([await atKeyServer(), await saidAt(rig.A)]).toMatchObject([{ publication: 2 }, { publication: 2 }]);
  const there = await readFile(join(rig.A, TIMESTAMP));
  expect(Buffer.from(await (await fetch(server.url + TIMESTAMP)).arrayBuffer())).toEqual(there);
  expect(await readFile(join(rig.made.out, TIMESTAMP))).toEqual(there);
});

it('where nobody can sign, it is said that the publication is out', async () => {
  const target = await openTarget(rig.A);
  const { workspace } = rig;
  await expect(publishSite({ workspace, out: rig.made.out, target, keyServer: access })).rejects.toMatchObject({
    code: 'key-server-refused',
    message: expect.stringMatching(/^published, at .*; but the key server .* refuses .*metadata-rollback$/),
  });
  expect(await saidAt(rig.A)).toMatchObject({ publication: 2 });
});
