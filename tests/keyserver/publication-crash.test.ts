import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { beforeAll, expect, it } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import { BUNDLE_PATH, encodeHandOver, PUBLICATION_PATH } from '../../core/publication/hand-over.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { verifyFirstRoot, verifyOwnTimestamp } from '../../core/publication/verify-roles.ts';
import { forDevelopment, readConfig } from '../../keyserver/config/config.ts';
import { overview } from '../../keyserver/operations/overview.ts';
import { acceptHandOver } from '../../keyserver/publication/authority.ts';
import { importBundle } from '../../keyserver/publication/import-bundle.ts';
import { readPublication, STRICT } from '../../keyserver/publication/stored.ts';
import { createToken } from '../../keyserver/publication/tokens.ts';
import { startKeyServer } from '../../keyserver/server.ts';
import { type KeyServerState, openState } from '../../keyserver/storage/state.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { configIn, temporaryFolder, writeConfigAt } from '../support/keyserver-rig.ts';
import { ROOT } from '../support/programs.ts';
import { encodeSnapshot, putFile, TIMESTAMP_PATH, timestampAt } from '../support/publication-rig.ts';
import { createPublisher, sealBundle } from '../support/publisher-with-sets.ts';
import { startWispr } from '../support/wispr.ts';

/** Copies the folder after each change: what a `kill -9` at that moment leaves. */
const PRELOAD = pathToFileURL(join(ROOT, 'tests/support/kill-at-step.mjs'));
const SETS = 40;
const HOURS_48 = 48 * 3600;
const parent = temporaryFolder();
let folder: string;
const publisher = await createPublisher(Array.from({ length: SETS }, (_, index) => `set-${index}`));
let token: string;
let bundle: Uint8Array;
let ports: { keyServer: string; reading: string };
beforeAll(async () => {
  folder = join(parent, 'server');
  mkdirSync(join(folder, 'site'), { recursive: true });
  const [keys, pages] = [await freePort(), await freePort()];
  writeConfigAt(folder, [keys, pages], { publication: { push: ['site'] } });
  ports = { keyServer: `http://127.0.0.1:${keys}`, reading: `http://127.0.0.1:${pages}` };
  await inState(folder, async (state) => {
    token = (await createToken(state, 'publisher', 1)).token;
    const seal = (serial: number) =>
      sealBundle(publisher, state.recipient.publicKey, { ...ports, content: 'https://cdn.example', serial });
    await importBundle(state, await seal(1), ports);
    await acceptHandOver(state, message(1), HOURS_48);
    bundle = await seal(2);
  });
});

async function inState<Result>(place: string, work: (state: KeyServerState) => Promise<Result>): Promise<Result> {
  const state = await openState(configIn(place));
  try {
    return await work(state);
  } finally {
    await state.database.close();
  }
}

async function read(bytes: Uint8Array): Promise<TimestampMetadata> {
  return verifyOwnTimestamp(bytes, await verifyFirstRoot(publisher.root.bytes, STRICT), STRICT);
}

/** Uploads a publication, and makes the message that hands it over. */
function message(version: number): Uint8Array {
  const site = join(folder, 'site');
  const snapshot = encodeSnapshot(publisher, version, nowInSeconds());
  putFile(site, '1.root.json', publisher.root.bytes);
  putFile(site, `${version}.snapshot.json`, snapshot);
  return encodeHandOver({ snapshot, roots: [], expiries: [] }, publisher.root.signers.snapshot.secretKey);
}

const states: string[] = [];
/** @returns how many there are by now */
function countStates(): number {
  while (existsSync(`${folder}.${states.length + 1}`)) states.push(`${folder}.${states.length + 1}`);
  return states.length;
}

/** @returns the first state from which on the answer holds */
async function put(path: string, body: Uint8Array): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const { status } = await fetch(ports.keyServer + path, { method: 'PUT', body: Buffer.from(body), headers });
  expect(status).toBe(200);
  return countStates();
}

it('attack 66: kill -9 at any step while bundles and publications come in and timestamps are signed: nothing is half there, nothing goes back', async () => {
  const env = { ...process.env, NODE_OPTIONS: `--import=${PRELOAD}` };
  const server = await startWispr(['keyserver', '--dev'], { cwd: folder, env });
  const [imported, second] = await Promise.all([put(BUNDLE_PATH, bundle), put(PUBLICATION_PATH, message(2))]);
  const third = await put(PUBLICATION_PATH, message(3));
  await server.stop();
  expect(countStates()).toBeGreaterThan(third);
  let last = { serial: 1, publication: 1, version: 0 };
  for (const [index, state] of states.entries()) {
    const found = await inState(state, async (opened) => {
      const { publisher: shown, sets } = await overview(opened);
      expect(sets).toHaveLength(SETS);
      const known = await readPublication(opened.database);
      expect((await read(known?.timestamp ?? new Uint8Array(0))).snapshot.version).toBe(known?.snapshotVersion);
      return {
        serial: shown?.serial ?? 0,
        publication: known?.snapshotVersion ?? 0,
        version: known?.version ?? 0,
      };
    });
    // What was answered is kept; what was not is there whole, or not at all.
    for (const [name, value] of Object.entries(found))
      expect(value).toBeGreaterThanOrEqual(last[name as keyof typeof last]);
    const answered = index + 1 >= third ? 3 : index + 1 >= second ? 2 : 1;
    expect(found.publication).toBeGreaterThanOrEqual(answered);
    if (index + 1 >= imported) expect(found.serial).toBe(2);
    last = found;
    await checkSite(state, found.publication);
  }
  expect(last).toMatchObject({ serial: 2, publication: 3 });
});

/** What lies at the web host is a whole timestamp, perhaps the one before; a server that starts then serves the current one, and pushes it. */
async function checkSite(place: string, publication: number): Promise<void> {
  const site = join(place, 'site');
  if (existsSync(join(site, TIMESTAMP_PATH)))
    expect((await read(timestampAt(site))).snapshot.version).toBeLessThanOrEqual(publication);
  const config = forDevelopment(readConfig(join(place, 'keyserver.json')));
  const server = await startKeyServer(config, { log: pino({ enabled: false }) });
  await server.keeper.idle();
  const served = await fetch(server.url + TIMESTAMP_PATH);
  expect((await read(new Uint8Array(await served.arrayBuffer()))).snapshot.version).toBe(publication);
  await server.close();
  expect((await read(timestampAt(site))).snapshot.version).toBe(publication);
}
