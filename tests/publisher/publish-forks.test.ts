/** Two copies of one workspace that both publish: what one has made is never replaced, nor mixed with what the other has, without a word. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { signMetadata } from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { rotateRole } from '../../publisher/keys/change-roles.ts';
import { protectSite } from '../../publisher/protect/protect.ts';
import { type PublishOptions, publishSite } from '../../publisher/publish/publish.ts';
import { renewerOf } from '../../publisher/publish/renew-timestamp.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { alteredTarget, interrupted } from '../support/altered-target.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { createWorkspace, PASSPHRASE, snapshot, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 60_000 }); // each protects several times

const TIMESTAMP = `${METADATA_PATH}timestamp.json`;
const PAGES = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `${name}.html`);
const forked = { code: 'target-forked' };
const newer = { code: 'target-newer' };

let made: TestWorkspace;
let target: Target;
let place: string;
const places = new TargetPlaces();

beforeEach(async () => {
  ({ place, target } = await places.next());
  made = await createWorkspace(Object.fromEntries(PAGES.map((page) => [page, '<p>1'])));
  await made.protect();
});
afterEach(() => made.remove());

type Copy = Pick<TestWorkspace, 'configurationFile' | 'out' | 'source'>;

const publish = ({ configurationFile, out }: Copy, options: Partial<PublishOptions> = {}) =>
  publishSite({ workspace: workspaceOf(configurationFile), out, target, keysAreThere: true, ...options });
const rotate = ({ configurationFile }: Copy) => rotateRole({ configurationFile, passphrase: PASSPHRASE }, 'timestamp');
const found = async () => (await verifyTree(place)).findings.map(({ path, code }) => `${path} ${code}`);

async function copyOf(): Promise<Copy> {
  const to = `${place}-copy`;
  await cp(made.directory, to, { recursive: true, preserveTimestamps: true });
  const at = (path: string) => join(to, path.slice(made.directory.length));
  return { configurationFile: at(made.configurationFile), out: at(made.out), source: at(made.source) };
}

async function change({ source, configurationFile }: Copy, page: string, text: string): Promise<void> {
  await writeFile(join(source, page), `<p>${text}`);
  await protectSite({ configurationFile, passphrase: PASSPHRASE });
}

/** What cannot be published, and leaves everything as it was. */
async function refused(publishing: () => Promise<unknown>, why: { code: string }): Promise<void> {
  const before = await snapshot(place);
  await expect(publishing()).rejects.toMatchObject(why);
  expect(await snapshot(place)).toEqual(before);
  expect(await found()).toEqual([]);
}

describe('a copy that has published', () => {
  it('a lower number than this is not mixed with what was made here under that number', async () => {
    await publish(made);
    const copy = await copyOf();
    await change(copy, 'a.html', 'B');
    await publish(copy);
    await change(made, 'a.html', 'A');
    await refused(() => publish(made), forked); // 2, and 2
    for (const page of PAGES.slice(1)) await change(made, page, '2');
    await refused(() => publish(made), forked); // 7, and 2
    // Who goes on from what is there may publish.
    await change(copy, 'b.html', '2');
    expect(await publish(copy)).toMatchObject({ publication: 3 });
  });

  it('another root of the same number stops this, whose timestamp nobody would take there', async () => {
    await publish(made);
    const copy = await copyOf();
    for (const each of [made, copy]) await rotate(each);
    await made.protect();
    for (const text of ['2', '3']) await change(copy, 'a.html', text);
    await publish(copy);
    await refused(() => publish(made), forked);
    await rotate(made); // a root above those there, and still not after them
    await made.protect();
    await refused(() => publish(made), forked);
    await refused(() => publish(made, { replaceNewer: true }), forked);
    // Where the newest root is ours, an earlier one that is not is put right.
    const [elsewhere, root] = [`${place}-roots`, join(METADATA_PATH, '2.root.json')];
    const other = { target: await openTarget(elsewhere) };
    await publish(made, other);
    await cp(join(copy.out, root), join(elsewhere, root));
    expect((await publish(made, other)).sent.files).toBe(1);
    expect(await readFile(join(elsewhere, root))).toEqual(await readFile(join(made.out, root)));
  });

  it('under the root before, more than was made here, is not replaced by what a newer root has confirmed', async () => {
    await publish(made);
    const copy = await copyOf();
    await rotate(made);
    await made.protect();
    for (const text of ['2', '3', '4']) await change(copy, 'a.html', text);
    await publish(copy);
    await refused(() => publish(made), newer);
    const hint = expect.stringMatching(/make a whole copy .* "wispr verify COPY --root ID"/);
    await writeFile(join(made.source, 'a.html'), '<p>1');
    await expect(publish(made)).rejects.toMatchObject({ ...newer, hint });
    for (const text of ['x2', 'x3', 'x4', 'x5']) await change(made, 'a.html', text);
    await refused(() => publish(made), forked);
    const theirs = await readFile(join(place, TIMESTAMP));
    const host = alteredTarget(target, {
      put: async (path, ...rest) => {
        await target.put(path, ...rest);
        if (path === TIMESTAMP) await writeFile(join(place, TIMESTAMP), theirs);
      },
    });
    const all = { replaceNewer: true };
    await expect(publish(made, { ...all, target: host })).rejects.toMatchObject({ code: 'target-reverted' });
    expect(await publish(made, all)).toMatchObject({ publication: 5 });
    expect(await found()).toEqual([]);
  });
});

describe('a copy whose keys were changed', () => {
  it('is said to have the last root that follows, however many there are', async () => {
    await publish(made);
    const copy = await copyOf();
    for (let version = 2; version <= 4; version++) await rotate(copy);
    await change(copy, 'a.html', '2');
    await publish(copy);
    const message = expect.stringMatching(/has root 4, and this has 1$/);
    await expect(publish(made)).rejects.toMatchObject({ ...newer, message });
    await rm(join(place, METADATA_PATH, '3.root.json'));
    const broken = expect.stringMatching(/has root 2, and this has 1$/);
    await expect(publish(made)).rejects.toMatchObject({ ...newer, message: broken });
  });
});

describe('a copy that publishes at the same moment', () => {
  const MOMENTS = ['list /', '.protected', '/2.documents-', '/2.snapshot.', '/timestamp.'];

  it('is not replaced, whenever it comes, and does not replace what is nearly there', async () => {
    const moments = MOMENTS.map((_, index) => `${place}-moment${index}`);
    for (place of moments) await publish(made, { target: await openTarget(place) });
    const copy = await copyOf();
    await change(copy, 'a.html', 'B');
    await change(made, 'a.html', 'A');
    const snapshotOf = (where: string) => readFile(join(where, METADATA_PATH, '2.snapshot.json'));
    const renewTimestamp = renewerOf(workspaceOf(made.configurationFile), made.out, PASSPHRASE, nowInSeconds());
    for (const [index, moment] of MOMENTS.entries()) {
      place = moments[index] as string;
      const target = await openTarget(place);
      const outcomeOf = (run: Promise<unknown>) =>
        run.then(
          () => 'done',
          ({ code }) => code,
        );
      let theirs = 'none';
      const racing = interrupted(
        target,
        async () => {
          theirs = await outcomeOf(publish(copy, { target }));
        },
        (path) => path.includes(moment),
      );
      const ours = await outcomeOf(publish(made, { target: racing, renewTimestamp }));
      const first = moment === '/timestamp.' ? ['done', 'target-forked'] : ['target-forked', 'done'];
      expect([moment, ours, theirs]).toEqual([moment, ...first]);
      expect(await found()).toEqual([]);
      expect(await snapshotOf(place)).toEqual(await snapshotOf(ours === 'done' ? made.out : copy.out));
      const again = ours === 'done' ? copy : made;
      expect(await outcomeOf(publish(again, { target, renewTimestamp }))).toBe('target-forked');
    }
  });
});

describe('whoever stole a timestamp key', () => {
  /** A timestamp of the key as it is now, for a snapshot that is not there. */
  async function steal(version: number): Promise<Uint8Array> {
    const { signers } = await made.keyStore();
    const { signed } = JSON.parse(await readFile(join(made.out, TIMESTAMP), 'utf8'));
    const file = { version, length: 1000, hashes: { sha256: 'ee'.repeat(32) } };
    const content = { ...signed, meta: { 'snapshot.json': file } };
    return signMetadata(content, [signers.timestamp]);
  }

  it('cannot keep the publisher from publishing once it was replaced, by a publication that is not there', async () => {
    await publish(made);
    const claims = await steal(1_000_000);
    await writeFile(join(place, TIMESTAMP), claims);
    const hint = expect.stringMatching(/"wispr verify" of a copy .* if nobody has, .*"wispr keys rotate timestamp"/);
    const message = expect.stringContaining('names publication 1000000, which is not there, and this is 1');
    await expect(publish(made)).rejects.toMatchObject({ ...newer, message, hint });
    // As the advice is where a publication is there: nothing of what is claimed is used.
    await rm(made.out, { recursive: true });
    await cp(place, made.out, { recursive: true });
    await made.protect();
    await expect(publish(made)).rejects.toMatchObject({ ...newer, hint });
    await rotate(made);
    await made.protect();
    expect((await publish(made)).publication).toBeLessThan(10);
    expect(await found()).toEqual([]);
  });

  it('cannot do so either by another publication of an earlier number that is not there', async () => {
    await publish(made);
    await change(made, 'a.html', '2');
    await publish(made);
    await writeFile(join(place, TIMESTAMP), await steal(1));
    await change(made, 'a.html', '3');
    expect(await publish(made)).toMatchObject({ publication: 3 });
    expect(await found()).toEqual([]);
  });
});

describe('metadata that are others', () => {
  const FILES = ['1.targets.json', '1.snapshot.json', '1.documents.json'];

  it('are put right though they are as long', async () => {
    await publish(made);
    for (const name of FILES) {
      const file = join(place, METADATA_PATH, name);
      const bytes = await readFile(file);
      await writeFile(file, bytes.fill('x', 200, 201));
    }
    expect(await found()).not.toEqual([]);
    expect((await publish(made)).sent.files).toBe(FILES.length);
    expect(await found()).toEqual([]);
    expect((await publish(made)).sent.files).toBe(0);
  });

  it('are put right where they are a root that its keys did not sign', async () => {
    await rotate(made);
    await made.protect();
    await publish(made);
    const file = join(place, METADATA_PATH, '2.root.json');
    const bytes = await readFile(file);
    const { signed } = JSON.parse(Buffer.from(bytes).toString('utf8')) as { signed: object };
    const { signers } = await made.keyStore();
    await writeFile(file, signMetadata({ ...signed } as never, [signers.targets]));
    const first = join(place, METADATA_PATH, '1.root.json');
    const firstBytes = await readFile(first);
    await writeFile(first, bytes); // good, and not the first
    await publish(made);
    expect(await readFile(first)).toEqual(firstBytes);
    expect(await readFile(file)).toEqual(bytes);
    expect(await found()).toEqual([]);
  });
});

describe('a bucket', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server();
    Object.assign(process.env, server.environment);
  }, 90_000);
  afterAll(async () => {
    for (const name of Object.keys(server.environment)) delete process.env[name];
    await server.stop();
  });

  it('is left as it is by a copy, and put right', async () => {
    await server.bucket('forks');
    const bucket = await openTarget('s3://forks/site');
    const all = { target: bucket };
    const bytesAt = (path: string) => bucket.get(path, 1_000_000);
    const type = { contentType: 'application/json', cacheControl: 'no-cache' };
    await publish(made, all);
    const copy = await copyOf();
    await change(copy, 'a.html', 'B');
    await change(made, 'a.html', 'A');
    const racing = interrupted(
      bucket,
      () => publish(copy, all),
      (path) => path.endsWith('/2.snapshot.json'),
    );
    await expect(publish(made, { target: racing })).rejects.toMatchObject(forked);
    expect((await publish(copy, all)).sent.files).toBe(0);
    const there = await bytesAt(TIMESTAMP);
    await change(made, 'b.html', 'A');
    await expect(publish(made, all)).rejects.toMatchObject(forked);
    expect(await bytesAt(TIMESTAMP)).toEqual(there);
    const path = `${METADATA_PATH}2.snapshot.json`;
    const good = Buffer.from((await bytesAt(path)) ?? []);
    await bucket.put(path, Buffer.from(good).fill('x', 200, 201), type);
    expect((await publish(copy, all)).sent.files).toBe(1);
    expect(await bytesAt(path)).toEqual(good);
    expect((await publish(copy, all)).sent.files).toBe(0);
    bucket.close();
  });
});
