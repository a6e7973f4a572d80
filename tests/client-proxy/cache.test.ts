/** Documents that were read stay as ciphertext: through the running proxy, with the content host gone, damaged entries, full folders. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { objectName } from '../../client-proxy/documents/cache/layout.ts';
import { ObjectCache } from '../../client-proxy/documents/cache/object-cache.ts';
import { SMALL_FILES, SmallObjects } from '../../client-proxy/documents/cache/small-objects.ts';
import { CachedObject } from '../../client-proxy/documents/cache/stored-object.ts';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { LIMITS } from '../../client-proxy/limits.ts';
import { afterwards } from '../support/afterwards.ts';
import { forEachTest } from '../support/for-file.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { changeSmall, filesBelow, keptObjects } from '../support/kept-objects.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

const MiB = 1024 * 1024;
const DAY = 86_400;
const SITE = 'news.example';
/** Poll interval for a file that is written in milliseconds. */
const SOON = { interval: 5 };

const rig = forEachTest(() => startHostileReaderRig({ cacheBytes: 64 * MiB }));

const folder = () => join(rig.storage.dataDirectory, 'cache');
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  send(rig.proxy.port, rig.url(path), { method, headers });

const kept = () => keptObjects(folder());

const files = (below = 'objects') => filesBelow(join(folder(), below));

/** Reads a document, and waits until it is kept. */
async function readAndKeep(path: string, headers: Record<string, string> = {}): Promise<Buffer> {
  const before = kept().length;
  const answer = await get(path, headers);
  await expect.poll(() => kept().length, SOON).toBeGreaterThan(before);
  await expect.poll(() => files('partial'), SOON).toEqual([]);
  return answer.body;
}

/** The content host has nothing any more but the publication. */
function loseObjects(): void {
  for (const path of rig.host.files.keys()) if (!path.startsWith('/.well-known/')) rig.host.files.delete(path);
}

const documentRequests = () => rig.host.requests.filter(({ url }) => !url.startsWith('/.well-known/'));

describe('a document that was read once', () => {
  it('needs no content host any more, whatever its size', async () => {
    const documents = new Map<string, Buffer>();
    const { publisher, host } = rig;
    await publisher.together(host.files, async () => {
      for (const size of [0, 1, 16_384, 65_536, 65_537, 200_000, 600_000]) {
        const content = randomBytes(size);
        documents.set(`/a${size}.bin`, content).set(`/public${size}.bin`, content);
        await publisher.publish(host.files, `/a${size}.bin`, { content });
        await publisher.publishSigned(host.files, `/public${size}.bin`, { content });
      }
    });
    for (const [path, content] of documents) expect((await readAndKeep(path)).equals(content)).toBe(true);
    loseObjects();
    rig.host.requests.length = 0;
    for (const [path, content] of documents) {
      const again = await get(path);
      expect([path, again.status, again.body.equals(content), again.complete]).toEqual([path, 200, true, true]);
      expect((await get(path, {}, 'HEAD')).headers['content-length']).toBe(String(content.length));
    }
    expect(documentRequests()).toEqual([]);
  });

  it('is held in memory within bounds, and for a while only', async () => {
    const cache = new ObjectCache(folder(), 64 * MiB);
    const size = 100_000;
    const most = LIMITS.cacheInMemory / size;
    const heads = Array.from({ length: Math.ceil(2 * most) }, (_, number) => `${number}`.padStart(64, '0'));
    const small = new SmallObjects(folder());
    small.put(heads.map((head) => ({ name: objectName(SITE, head), bytes: new Uint8Array(size) })));
    for (const head of heads) expect(cache.find(SITE, head)?.length).toBe(size);
    small.forget('');
    small.close();
    const held = () => heads.filter((head) => cache.find(SITE, head) !== undefined).length;
    expect(held()).toBeGreaterThan(most / 2);
    expect(held()).toBeLessThanOrEqual(most);
    await afterwards(LIMITS.cacheInMemoryFor, () => expect(held()).toBe(0));
    await cache.close();
  });

  it('is there after a new start, without any network, until the grace period ends', async () => {
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'for the train' });
    await readAndKeep('/a.html');
    await rig.restart({ connectTo: [parseConnectTo('::127.0.0.1:9')] }); // host is gone
    const offline = await get('/a.html');
    expect([offline.status, offline.text]).toEqual([200, 'for the train']);
    rig.passTime(5 * DAY); // freshness is over, the grace period is not
    expect((await get('/a.html')).text).toBe('for the train');
    rig.passTime(5 * DAY);
    const expired = await get('/a.html');
    expect([expired.status, expired.text.includes('for the train')]).toEqual([502, false]);
    expect(refusalCode(expired)).toBe('publication-expired');
  });

  it('gives ranges and codings out of what is kept', async () => {
    const content = randomBytes(600_000);
    await rig.publisher.publish(rig.host.files, '/film.mp4', { content });
    const coded = gzipSync('<p>text</p>'.repeat(1000));
    await rig.publisher.publish(rig.host.files, '/page.html', { content: coded, metadata: { contentCoding: 'gzip' } });
    await readAndKeep('/film.mp4', { range: 'bytes=0-' }); // browsers ask so for films
    await readAndKeep('/page.html');
    loseObjects();
    await rig.restart(); // nothing is remembered but what is on the disk
    for (const [range, start, end] of [
      ['bytes=500000-500099', 500_000, 500_100],
      ['bytes=5-9', 5, 10],
      ['bytes=-7', 599_993, 600_000],
    ] as const) {
      const part = await get('/film.mp4', { range });
      expect([part.status, part.body.equals(content.subarray(start, end))]).toEqual([206, true]);
    }
    expect((await get('/page.html', { 'accept-encoding': 'gzip' })).body.equals(coded)).toBe(true);
    expect((await get('/page.html')).text).toContain('<p>text</p>');
  });

  it('in a page is kept as the object that it is', async () => {
    const content = randomBytes(150_000);
    const object = await rig.publisher.object('/carried.html', { content });
    await rig.publisher.publishCarrier(rig.host.files, '/carried.html', object);
    await readAndKeep('/carried.html');
    const [file = ''] = files();
    expect((await readFile(file)).equals(object)).toBe(true);
    loseObjects();
    expect((await get('/carried.html')).body.equals(content)).toBe(true);
  });

  it('is not shown any more where the publication names another version, or none', async () => {
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'old' });
    await readAndKeep('/a.html');
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'new' });
    expect((await get('/a.html')).text).toBe('new');
    rig.publisher.publication.targetsFor('a.html.protected').delete('a.html.protected');
    await rig.publisher.sign(rig.host.files);
    expect(refusalCode(await get('/a.html'))).toBe('no-such-document');
  });
});

describe('the folder', () => {
  it('is for the reader alone, and its names say nothing', async () => {
    await rig.publisher.publish(rig.host.files, '/secret-name.html', { content: 'x' });
    await rig.publisher.publish(rig.host.files, '/secret-film.mp4', { content: randomBytes(200_000) });
    await readAndKeep('/secret-name.html');
    await readAndKeep('/secret-film.mp4');
    expect(kept()).toHaveLength(2);
    expect(kept().join()).not.toMatch(/secret|news/);
    const [file = ''] = files();
    for (const one of [file, ...SMALL_FILES.map((name) => join(folder(), name))])
      expect((await stat(one)).mode & 0o777).toBe(0o600);
    for (let path = file; path !== rig.storage.dataDirectory; path = join(path, '..')) {
      expect(path.slice(folder().length)).not.toMatch(/secret|news/);
      if (path !== file) expect((await stat(path)).mode & 0o777).toBe(0o700);
    }
  });

  it('drops an entry that is damaged, fetches it again, and never shows it', async () => {
    const content = randomBytes(300_000);
    await rig.publisher.publish(rig.host.files, '/a.bin', { content });
    await readAndKeep('/a.bin');
    const [file = ''] = files();
    const good = await readFile(file);
    const damaged: [what: string, bytes: Buffer][] = [
      ['a flipped bit in the head', flipped(good, 40)],
      ['a flipped bit in the first block', flipped(good, 3000)],
      ['a flipped bit in a late block', flipped(good, 250_000)],
      ['a cut', good.subarray(0, 200_000)],
      ['a longer end', Buffer.concat([good, Buffer.from('x')])],
      ['nothing in it', Buffer.alloc(0)],
    ];
    for (const [what, bytes] of damaged)
      for (const range of ['bytes=240000-299999', undefined]) {
        await writeFile(file, bytes);
        await rig.restart();
        const { complete, body } = await get('/a.bin', range ? { range } : {});
        expect([what, complete, body.equals(range ? content.subarray(240_000) : content)]).toEqual([what, true, true]);
        if (range) continue;
        await get('/a.bin');
        await expect.poll(async () => good.equals(await readFile(file).catch(() => Buffer.of())), SOON).toBe(true);
      }
  });

  it('with a damaged entry and no content host: refused, or cut off where the damage is', async () => {
    const content = randomBytes(300_000);
    await rig.publisher.publish(rig.host.files, '/a.bin', { content });
    await readAndKeep('/a.bin');
    const [file = ''] = files();
    const good = await readFile(file);
    loseObjects();
    await writeFile(file, flipped(good, 250_000));
    const late = await get('/a.bin');
    expect([late.complete, content.subarray(0, late.body.length).equals(late.body)]).toEqual([false, true]);
    await writeFile(file, flipped(good, 3000));
    expect([(await get('/a.bin')).status, files()]).toEqual([502, []]);
  });

  it('never holds more than it may: what was not used for long goes first', async () => {
    await rig.restart({ cacheBytes: MiB });
    for (let index = 0; index < 12; index++) {
      await rig.publisher.publish(rig.host.files, `/${index}.bin`, { content: randomBytes(100_000) });
      const before = kept();
      await get(`/${index}.bin`);
      await expect.poll(() => kept().some((name) => !before.includes(name)), SOON).toBe(true);
      for (const name of kept())
        if (!before.includes(name)) changeSmall(folder(), 'UPDATE objects SET used = ? WHERE name = ?', index, name);
      await expect.poll(() => rig.proxy.cache.status().bytes ?? 0, SOON).toBeLessThanOrEqual(MiB);
    }
    expect(kept().length).toBeLessThanOrEqual(10);
    expect((await stat(join(folder(), 'small.db'))).size).toBeLessThanOrEqual(1.1 * MiB);
    rig.host.requests.length = 0;
    await get('/11.bin');
    expect(documentRequests()).toEqual([]);
    await get('/0.bin');
    expect(documentRequests()).toHaveLength(1);
  });

  it('takes no object beyond its share: a film leaves the rest alone', async () => {
    await rig.restart({ cacheBytes: MiB });
    await rig.publisher.publish(rig.host.files, '/small.bin', { content: 'small' });
    await rig.publisher.publish(rig.host.files, '/film.mp4', { content: Buffer.alloc(MiB / 4) });
    await readAndKeep('/small.bin');
    expect((await get('/film.mp4')).complete).toBe(true);
    expect(kept()).toHaveLength(1);
    const cache = new ObjectCache(folder(), MiB);
    const begins = (name: string, length: number, synced = false) =>
      cache.begin(SITE, name.repeat(64), length, synced) !== undefined;
    const share = MiB / LIMITS.cacheShare;
    expect([begins('a', share), begins('b', share + 1), begins('c', share + 1, true)]).toEqual([true, false, true]);
    await cache.close();
  });

  it('is closed to others where it was there, and open to them', async () => {
    const given = join(rig.directory, 'given');
    await mkdir(given);
    await chmod(given, 0o755);
    await rig.restart({ cacheDirectory: given });
    expect((await stat(given)).mode & 0o777).toBe(0o700);
  });

  it('is not left by way of a link in an object’s place', async () => {
    await rig.publisher.publish(rig.host.files, '/a.html', { content: randomBytes(200_000) });
    await readAndKeep('/a.html');
    const [file = ''] = files();
    const found = CachedObject.find(file);
    expect(found?.length).toBe((await stat(file)).size);
    found?.close();
    const aside = join(rig.directory, 'aside');
    await rename(file, aside);
    await symlink(aside, file);
    expect(CachedObject.find(file)).toBeUndefined();
  });

  it('counts no half object of a process that died, and drops what it left', async () => {
    await rig.publisher.publish(rig.host.files, '/a.bin', { content: randomBytes(300_000) });
    await readAndKeep('/a.bin');
    const [file = ''] = files();
    const left = join(folder(), 'partial', `${2 ** 22 + 1}.abandoned`); // a number that no process has
    await writeFile(left, 'half of something');
    await truncate(file, 100_000);
    await rig.restart();
    await expect.poll(() => files('partial')).toEqual([]);
    expect((await get('/a.bin')).body).toHaveLength(300_000);
  });

  it('keeps nothing of a document that was not read to its end', async () => {
    await rig.publisher.publish(rig.host.files, '/a.bin', { content: randomBytes(300_000) });
    const object = rig.host.files.get(rig.publisher.fileOf('/a.bin')) as Uint8Array;
    rig.host.files.set(rig.publisher.fileOf('/a.bin'), object.subarray(0, 250_000));
    expect((await get('/a.bin')).complete).toBe(false);
    await get('/a.bin', { range: 'bytes=10-20' });
    await rig.restart();
    expect([kept(), files('partial')]).toEqual([[], []]);
  });

  it('is made anew while the Reader runs where it is removed, or its database is damaged or of another version', async () => {
    await rig.publisher.together(rig.host.files, async () => {
      for (let number = 0; number < 60; number++)
        await rig.publisher.publish(rig.host.files, `/${number}.html`, { content: 'x' });
    });
    let number = 0;
    const readNext = async () => {
      expect((await get(`/${number++}.html`)).text).toBe('x');
      return kept().length;
    };
    const harms: [what: string, harm: () => Promise<void>][] = [
      ['removed', () => rm(folder(), { recursive: true })],
      ['damaged', () => writeFile(join(folder(), 'small.db'), 'no database'.repeat(1000))],
      ['of another version', async () => changeSmall(folder(), 'PRAGMA user_version = 7')],
    ];
    for (const [what, harm] of harms) {
      await expect.poll(readNext, { interval: 300, message: what }).toBeGreaterThan(0);
      await harm();
      if (what === 'of another version') await rig.restart();
      else await expect.poll(readNext, { interval: 300, message: what }).toBeGreaterThan(0);
      expect(rig.proxy.cache.status().problem, what).toBeUndefined();
    }
    await expect.poll(readNext).toBeGreaterThan(0);
  });

  it('is not needed where it cannot be written: reading goes on without it', async () => {
    await rig.publisher.publish(rig.host.files, '/a.bin', { content: randomBytes(400_000) });
    const blocked = join(rig.directory, 'blocked');
    await writeFile(blocked, 'a file where a folder should be');
    await rig.restart({ cacheDirectory: blocked });
    expect((await get('/a.bin')).body).toHaveLength(400_000);
    expect(rig.proxy.cache.status().problem).toMatch(/EEXIST|ENOTDIR/);
    await mkdir(join(rig.directory, 'gone'));
    await rig.restart({ cacheDirectory: join(rig.directory, 'gone') });
    await chmod(join(rig.directory, 'gone', 'partial'), 0o000);
    expect((await get('/a.bin')).body).toHaveLength(400_000);
  });

  it('passes over a pipe that lies where an object was, without waiting for who writes into it', async () => {
    await rig.publisher.publish(rig.host.files, '/a.bin', { content: 'x'.repeat(200_000) });
    await readAndKeep('/a.bin');
    const [file = ''] = files();
    rmSync(file);
    execFileSync('mkfifo', [file]);
    expect((await get('/a.bin')).text).toBe('x'.repeat(200_000));
  });

  it('forgets a site when it is told to, and nothing else', async () => {
    await rig.publisher.publish(rig.host.files, '/a.bin', { content: 'x' });
    await readAndKeep('/a.bin');
    const cache = new ObjectCache(folder(), 64 * MiB);
    await cache.keepSynced(SITE, [rig.publisher.set.id, 'f'.repeat(64)]);
    await cache.forget('other.example');
    expect([kept().length, await cache.syncedOf(SITE)]).toEqual([1, new Set(['f'.repeat(64)])]);
    const head = basename(kept()[0] ?? '');
    expect(cache.find(SITE, head)).toBeDefined(); // memory has it as well
    await cache.forget(SITE);
    expect([kept(), await cache.syncedOf(SITE), cache.find(SITE, head)]).toEqual([[], new Set(), undefined]);
    await cache.close();
    await readAndKeep('/a.bin'); // keeps it anew
  });

  it('is not made, and not looked at, where nothing is to be kept', async () => {
    await rig.restart({ cacheBytes: 0, cacheDirectory: join(rig.directory, 'none') });
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'x' });
    expect((await get('/a.html')).text).toBe('x');
    await expect(stat(join(rig.directory, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}
