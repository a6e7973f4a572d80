/** What a host that nobody trusts does to whoever publishes there: the key server is told nothing that is not so, and nobody is stopped for good. */
import { cp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseHandOver } from '../../core/publication/hand-over-1.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { metadataIn } from '../../publisher/publication/places.ts';
import { handOverKeys } from '../../publisher/publish/key-server.ts';
import { type PublishOptions, publishSite } from '../../publisher/publish/publish.ts';
import { runTimestamp } from '../../publisher/timestamp/run.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { alteredTarget, interrupted } from '../support/altered-target.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { makeTwoPublications, type TwoPublications } from '../support/two-publications.ts';
import { PASSPHRASE } from '../support/workspace.ts';

const TIMESTAMP = `${METADATA_PATH}timestamp.json`;
let two: TwoPublications;
let host: ContentHost;
let told: Buffer[];
let status: number;
let target: Target;
let place: string;
const places = new TargetPlaces();

beforeAll(async () => {
  two = await makeTwoPublications();
  host = await startContentHost();
  host.handlers.set('/v1/bundle', (_, response) => {
    response.writeHead(200).end('{}');
  });
  host.handlers.set('/v1/publication', async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    told.push(Buffer.from(parseHandOver(Buffer.concat(parts)).timestamp));
    response.writeHead(status).end('{}');
  });
});
afterAll(async () => {
  await two.workspace.remove();
  await host.close();
});
beforeEach(async () => {
  [told, status] = [[], 200];
  ({ place, target } = await places.next());
});

const at = (path: string) => join(place, path);
const publish = (out: string, options: Partial<PublishOptions> = {}) => {
  const keyServer = { origin: host.origin, token: 'token-0123456789-abcdefgh' };
  const workspace = workspaceOf(two.workspace.configurationFile);
  return publishSite({ workspace, out, target, keysAreThere: true, keyServer, ...options });
};
/** A host that takes the timestamp, and has its own in its place. */
const showing = (bytes: Uint8Array) =>
  alteredTarget(target, {
    put: async (path, ...rest) => {
      await target.put(path, ...rest);
      if (path === TIMESTAMP) await writeFile(at(TIMESTAMP), bytes);
    },
  });

describe('the key server', () => {
  it('is told of this publication where the host goes on showing the one before, and that is no success', async () => {
    await publish(two.first);
    const before = await readFile(at(TIMESTAMP));
    const own = await readFile(join(two.second, TIMESTAMP));
    told = [];
    await expect(publish(two.second, { target: showing(before) })).rejects.toMatchObject({ code: 'target-reverted' });
    expect(told).toEqual([own]);
    expect(await publish(two.second)).toMatchObject({ publication: 2, keyServerTold: true });
    expect(told).toEqual([own, own]);
  });

  it.each([
    ['what nobody has signed', Buffer.from('{"hello":"from the host"}')],
    ['more than any timestamp has', Buffer.alloc(20_000)],
  ])('is not handed %s', async (_, bytes) => {
    await expect(publish(two.first, { target: showing(bytes) })).rejects.toMatchObject({ code: 'target-reverted' });
    expect(told).toEqual([await readFile(join(two.first, TIMESTAMP))]);
  });

  it('is told of a newer timestamp at the target that says as much, and of no older one', async () => {
    const confirmed = join(places.directory, 'confirmed');
    await cp(two.first, confirmed, { recursive: true });
    const from = { configurationFile: two.workspace.configurationFile };
    const metadata = join(confirmed, METADATA_PATH);
    await runTimestamp({ from, own: metadataIn(metadata), passphrase: PASSPHRASE, now: nowInSeconds() + 100 });
    await publish(confirmed);
    await publish(two.first);
    const [newer, older] = [confirmed, two.first].map((out) => readFile(join(out, TIMESTAMP)));
    expect(told).toEqual([await newer, await newer]);
    const showsOlder = showing((await older) as Buffer);
    await rm(at(TIMESTAMP));
    await expect(publish(confirmed, { target: showsOlder })).rejects.toMatchObject({ code: 'target-reverted' });
    expect(told[2]).toEqual(await newer);
  });
});

describe('the key server that', () => {
  const away = { keyServer: { origin: 'http://127.0.0.1:9', token: 'token-0123456789-abcdefgh' }, keysAreThere: false };
  const unreachable = { code: 'key-server-unreachable' };
  const bundle = () => workspaceOf(two.workspace.configurationFile).bundle;
  beforeEach(() => writeFile(bundle(), 'a bundle'));
  afterEach(() => rm(bundle()));

  it('refuses the news is not passed over', async () => {
    status = 400;
    const handed = publish(two.first, { keysAreThere: true, keyServer: { ...away.keyServer, origin: host.origin } });
    await expect(handed).rejects.toMatchObject({ code: 'key-server-refused' });
  });

  it('is away has to be given keys first, unless somebody says that it need not', async () => {
    const access = away.keyServer;
    await expect(handOverKeys(access, Buffer.from('a bundle'))).rejects.toMatchObject(unreachable);
    await expect(publish(two.first, { ...away, target: undefined as never })).rejects.toMatchObject(unreachable);
  });

  it('is away holds up a set with a new key', async () => {
    await publish(two.second);
    expect(await publish(two.second, away)).toMatchObject({ keyServerTold: false });
    const { out, protect } = two.workspace;
    await protect({ rekey: ['subscribers'] });
    await expect(publish(out, away)).rejects.toMatchObject(unreachable);
  });
});

it('an output that changes on the way is not shown', async () => {
  const changing = join(places.directory, 'changing');
  await cp(two.second, changing, { recursive: true });
  const change = () => cp(join(two.first, TIMESTAMP), join(changing, TIMESTAMP));
  const racing = interrupted(target, change, (path) => path.includes('/2.snapshot.'));
  await expect(publish(changing, { target: racing })).rejects.toMatchObject({ code: 'output-incomplete' });
  expect([await target.head(TIMESTAMP), told]).toEqual([undefined, []]);
});

describe('a file at the target stops nobody, and is put right', () => {
  const ROOT = `${METADATA_PATH}1.root.json`;
  const byHand = { keyServer: undefined as never, keysAreThere: false };

  it.each([
    ['nothing in it', () => Buffer.alloc(0)],
    ['another byte in it', (root: Buffer) => root.fill('x', 300, 301)],
    ['more in it than any root has', () => Buffer.alloc(70_000)],
  ])('a first root with %s', async (_, spoil) => {
    await publish(two.first);
    const root = await readFile(at(ROOT));
    await writeFile(at(ROOT), spoil(Buffer.from(root)));
    expect((await publish(two.second)).publication).toBe(2);
    expect(await readFile(at(ROOT))).toEqual(root);
  });

  it('a snapshot of an earlier publication that is longer than any', async () => {
    await publish(two.first);
    await truncate(at(`${METADATA_PATH}1.snapshot.json`), PUBLICATION_LIMITS.snapshotLength + 1);
    expect((await publish(two.second)).waiting).toBeGreaterThan(0);
    expect((await publish(two.second)).sent.files).toBe(0);
  });

  it('a next root, or a timestamp, that is longer than any, where keys are handed over by hand', async () => {
    await publish(two.first);
    await writeFile(at(`${METADATA_PATH}2.root.json`), Buffer.alloc(70_000));
    expect((await publish(two.second, byHand)).publication).toBe(2);
    await writeFile(at(TIMESTAMP), Buffer.alloc(20_000));
    // Nobody could tell which keys are new any more but who remembers what was published.
    const { lastPublished } = workspaceOf(two.workspace.configurationFile);
    const remembered = await readFile(lastPublished);
    await rm(lastPublished);
    await expect(publish(two.second, byHand)).rejects.toMatchObject({
      code: 'keys-not-handed-over',
      message: expect.stringContaining('it cannot be known'),
    });
    await writeFile(lastPublished, remembered);
    expect((await publish(two.second, byHand)).publication).toBe(2);
    await rm(at(TIMESTAMP));
    await rm(lastPublished);
    expect((await publish(two.second, { ...byHand, keysAreThere: true })).publication).toBe(2);
  });
});
