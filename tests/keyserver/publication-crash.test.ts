import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BUNDLE_PATH, encodeHandOver, PUBLICATION_PATH } from '../../core/publication/hand-over.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { verifyFirstRoot, verifyOwnTimestamp } from '../../core/publication/verify-roles.ts';
import { overview } from '../../keyserver/operators/overview.ts';
import { acceptHandOver } from '../../keyserver/publication/authority.ts';
import { importBundle } from '../../keyserver/publication/import-bundle.ts';
import { readPublication, STRICT } from '../../keyserver/publication/stored.ts';
import { createToken } from '../../keyserver/publication/tokens.ts';
import { type KeyServerState, openState } from '../../keyserver/storage/state.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { configIn, temporaryFolder } from '../support/keyserver-rig.ts';
import { encodeSnapshot, putFile, TIMESTAMP_PATH } from '../support/publication-rig.ts';
import { createPublisher, type PublisherWithSets, sealBundle } from '../support/publisher-with-sets.ts';
import { storeIn } from '../support/store.ts';
import { startWispr } from '../support/wispr.ts';

const RUNS = 8;
/** Each begins a key server: on PostgreSQL, whose own tests hold what a kill does to it, a few will do. */
const RUNS_ON_POSTGRES = 3;
let folder: string;
let store: Awaited<ReturnType<typeof storeIn>>;
let site: string;
let publisher: PublisherWithSets;
let token: string;
let ports: { keyServer: string; reading: string };
beforeAll(async () => {
  folder = temporaryFolder();
  site = join(folder, 'site');
  mkdirSync(site);
  publisher = await createPublisher(Array.from({ length: 40 }, (_, index) => `set-${index}`));
  const listen = { host: '127.0.0.1', port: 0 };
  store = await storeIn(folder);
  const paths = { ...store, masterKey: 'master.key', publicKey: 'keyserver.pub' };
  const write = (keys = listen, reading = listen) =>
    writeFileSync(
      join(folder, 'keyserver.json'),
      JSON.stringify({
        listen: keys,
        reading: { listen: reading, documents: { listen } },
        publication: { push: ['site'] },
        ...paths,
      }),
    );
  write();
  const first = await startWispr(['keyserver', '--dev'], { cwd: folder });
  const { keyserver = '', reading = '' } = first.ready;
  await first.stop();
  ports = { keyServer: keyserver, reading };
  const at = (origin: string) => ({ host: '127.0.0.1', port: Number(new URL(origin).port) });
  write(at(keyserver), at(reading)); // so that the origins in the descriptor stay true
  await inState(async (state) => {
    token = (await createToken(state, 'publisher', 1)).token;
    await importBundle(state, await seal(state, 1), ports);
    await acceptHandOver(state, message(1), 48 * 3600);
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

async function inState<Result>(work: (state: KeyServerState) => Promise<Result>): Promise<Result> {
  const state = await openState({ ...configIn(folder), ...store });
  try {
    return await work(state);
  } finally {
    await state.database.close();
  }
}

function seal(state: KeyServerState, serial: number): Promise<Uint8Array> {
  const options = { ...ports, content: 'https://cdn.example', serial };
  return sealBundle(publisher, state.recipient.publicKey, options);
}

async function read(bytes: Uint8Array): Promise<TimestampMetadata> {
  return verifyOwnTimestamp(bytes, await verifyFirstRoot(publisher.root.bytes, STRICT), STRICT);
}

/** Uploads a publication, and makes the message that hands it over. */
function message(version: number): Uint8Array {
  const snapshot = encodeSnapshot(publisher, version, nowInSeconds());
  putFile(site, '1.root.json', publisher.root.bytes);
  putFile(site, `${version}.snapshot.json`, snapshot);
  return encodeHandOver({ snapshot, roots: [], expiries: [] }, publisher.root.signers.snapshot.secretKey);
}

/** Some moment of what is under way; a generator that can be run again would hide what only real time shows. */
const someMoment = () => wait(Math.random() * 150);

const get = async (path: string) => new Uint8Array(await (await fetch(ports.keyServer + path)).arrayBuffer());

const put = (path: string, body: Uint8Array) =>
  fetch(ports.keyServer + path, {
    method: 'PUT',
    body: Buffer.from(body),
    headers: { authorization: `Bearer ${token}` },
  }).then(
    ({ status }) => status,
    () => 0,
  );

it('attack 66: kill -9 while bundles and publications come in and timestamps are signed: nothing is half there, nothing goes back', async () => {
  let serial = 1;
  let publication = 1;
  let last = 0;
  const runs = store.data === undefined ? RUNS_ON_POSTGRES : RUNS;
  for (let turn = 0; turn < runs; turn++) {
    const server = await startWispr(['keyserver', '--dev'], { cwd: folder }); // signs at its start
    const bundle = await inState((state) => seal(state, serial + 1));
    const answers = Promise.all([put(BUNDLE_PATH, bundle), put(PUBLICATION_PATH, message(publication + 1))]);
    await Promise.race([someMoment(), answers]);
    await server.stop('SIGKILL');
    const [bundleStatus, publicationStatus] = await answers;
    await inState(async (state) => {
      const shown = await overview(state);
      // What was answered is kept; what was not is there whole, or not at all.
      const kept = shown.publisher?.serial ?? 0;
      expect([serial, serial + 1]).toContain(kept);
      if (bundleStatus === 200) expect(kept).toBe(serial + 1);
      expect(shown.sets).toHaveLength(40);
      serial = kept;
      const known = await readPublication(state.database);
      const version = known?.snapshotVersion ?? 0;
      expect([publication, publication + 1]).toContain(version);
      if (publicationStatus === 200) expect(version).toBe(publication + 1);
      publication = version;
      expect(known?.version ?? 0).toBeGreaterThanOrEqual(last);
      last = known?.version ?? 0;
      if (known) expect((await read(known.timestamp)).snapshot.version).toBe(version);
    });
    await checkSite(publication);
  }
  const server = await startWispr(['keyserver', '--dev'], { cwd: folder });
  publication += 1;
  expect(await put(PUBLICATION_PATH, message(publication))).toBe(200);
  expect((await read(await get(TIMESTAMP_PATH))).snapshot.version).toBe(publication);
  await server.stop();
  expect((await read(readFileSync(join(site, '.well-known/wispr/timestamp.json')))).snapshot.version).toBe(publication);
}, 300_000);

/** What lies at the web host is a whole timestamp, perhaps the one before. */
async function checkSite(publication: number): Promise<void> {
  const names = (() => {
    try {
      return readdirSync(join(site, '.well-known', 'wispr'));
    } catch {
      return [];
    }
  })();
  if (!names.includes('timestamp.json')) return;
  const { snapshot } = await read(readFileSync(join(site, '.well-known/wispr/timestamp.json')));
  expect(snapshot.version).toBeLessThanOrEqual(publication);
}
