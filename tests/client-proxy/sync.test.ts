/** A whole site into the cache: what `wispr sync` does, without its command. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ObjectCache } from '../../client-proxy/documents/cache/object-cache.ts';
import { parseConnectTo, type SyncOptions, type SyncProgress, startProxy, syncSite } from '../../client-proxy/index.ts';
import { DEFAULT_LIMITS, LIMITS } from '../../client-proxy/limits.ts';
import { storeOptions } from '../../client-proxy/store/locations.ts';
import { SettingsKeeper } from '../../client-proxy/store/settings.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { binMetadata, signMetadata } from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { forEachTest } from '../support/for-file.ts';
import { send } from '../support/http-client.ts';
import { changeSmall, keptObjects, smallObjects } from '../support/kept-objects.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

const rig = forEachTest(() => startHostileReaderRig({ cacheBytes: 50_000_000 }));

const SITE = 'news.example';
const get = (path: string) => send(rig.proxy.port, rig.url(path));

const sync = (options: Partial<SyncOptions> = {}) =>
  syncSite({ ...rig.storage, site: SITE, connectTo: [parseConnectTo(`:80:127.0.0.1:${rig.host.port}`)], ...options });

const NEWS = 11;
const ALL = NEWS + 3;

/** Documents of several kinds: encrypted, large, public, in a page. */
async function publishSome(): Promise<Map<string, Buffer>> {
  const { publisher, host } = rig;
  const [publicContent, carriedContent] = [randomBytes(100_000), randomBytes(70_000)];
  const documents = new Map<string, Buffer>();
  for (let index = 0; index < NEWS; index++) documents.set(`/news/${index}.html`, randomBytes(1000 * index));
  documents.set('/film.mp4', randomBytes(2_000_000));
  await publisher.together(host.files, async () => {
    for (const [path, content] of documents) await publisher.publish(host.files, path, { content });
    await publisher.publishSigned(host.files, '/public.png', { content: publicContent });
    const object = await publisher.object('/carried.html', { content: carriedContent });
    await publisher.publishCarrier(host.files, '/carried.html', object);
  });
  return documents.set('/public.png', publicContent).set('/carried.html', carriedContent);
}

/** Publishes what the Reader has not looked at. */
async function publishUnseen(path: string): Promise<void> {
  rig.publisher.afterPublishing = async () => undefined;
  await rig.publisher.publish(rig.host.files, path, { content: 'new' });
}

const folder = () => join(rig.storage.dataDirectory, 'cache');
const objects = () => keptObjects(folder());

async function setCacheSize(megabytes: string): Promise<void> {
  const store = await ReaderStore.open(storeOptions(rig.storage));
  new SettingsKeeper(store.preferences).save(new Map([['cacheBytes', megabytes]]));
  store.close();
}

/** The heads of what is kept for having been synced. */
async function synced(): Promise<string[]> {
  const cache = new ObjectCache(folder(), LIMITS.cacheBytes);
  try {
    return [...(await cache.syncedOf(SITE))].sort();
  } finally {
    await cache.close();
  }
}

const requests = () => rig.host.requests.filter(({ url }) => !url.startsWith('/.well-known/'));

describe('a sync', () => {
  it('brings the rest where a section is no good, and keeps what it brought of that before', async () => {
    const { publication } = rig.publisher;
    const section = await publication.addSection('sports', ['sports/*']);
    for (const path of ['/news/today.html', '/sports/match.html'])
      await rig.publisher.publish(rig.host.files, path, { content: randomBytes(500) });
    expect(await sync()).toMatchObject({ here: { documents: 2 }, failed: [] });
    const before = await synced();
    const now = nowInSeconds();
    const about = { version: ++publication.version, expires: now - 1 };
    await publication.force('sports', about.version, signMetadata(binMetadata(about, []), section.keys.signers));
    await publication.publishSnapshot(now - 3600, { expires: now + 3600 });
    for (const [path, bytes] of publication.files) rig.host.files.set(path, bytes);
    const failed = [{ path: 'sports', code: 'metadata-expired' }];
    expect(await sync()).toMatchObject({ here: { documents: 1 }, failed });
    expect([before.length, await synced()]).toEqual([2, before]);
  });

  it('brings everything here, to be read without any network', async () => {
    const documents = await publishSome();
    const steps: SyncProgress[] = [];
    const summary = await sync({ onProgress: (progress) => steps.push(progress) });
    expect(summary).toMatchObject({ site: SITE, refused: [], failed: [], alreadyThere: { documents: 0, bytes: 0 } });
    expect(summary.here).toEqual(summary.fetched);
    expect([summary.here.documents, objects().length]).toEqual([ALL, ALL]);
    expect(summary.readableUntil).toBeGreaterThan(Date.now() / 1000);
    expect([...new Set(steps.map(({ step }) => step))]).toEqual(['listing', 'measuring', 'fetching']);
    expect(steps.at(-1)).toMatchObject({ documents: ALL, ofDocuments: ALL, bytes: summary.here.bytes });
    expect(steps.at(-1)?.ofBytes).toBe(summary.here.bytes);
    await rig.restart({ connectTo: [parseConnectTo('::127.0.0.1:9')] });
    for (const [path, content] of documents)
      expect([path, (await get(path)).body.equals(content)]).toEqual([path, true]);
  });

  it('fetches only what is new, what was damaged and what was lost when it runs again', async () => {
    const documents = await publishSome();
    await sync();
    const [lost = '', damaged = ''] = smallObjects(folder());
    changeSmall(folder(), 'DELETE FROM objects WHERE name = ?', lost);
    const named = 'id = (SELECT id FROM objects WHERE name = ?)';
    changeSmall(folder(), `UPDATE contents SET bytes = CAST('not an object' AS BLOB) WHERE ${named}`, damaged);
    await rig.publisher.publish(rig.host.files, '/new.html', { content: 'new' });
    rig.host.requests.length = 0;
    const summary = await sync();
    expect([summary.fetched.documents, summary.alreadyThere.documents]).toEqual([3, ALL - 2]);
    // A document may take requests for two files.
    const asked = requests().map(({ url }) => /^.*\/(?:[0-9a-f]{64}\.)?(.*?)(?:\.protected)?$/.exec(url)?.[1]);
    expect(new Set(asked).size).toBe(3);
    expect((await get('/new.html')).text).toBe('new');
    for (const [path, content] of documents) expect((await get(path)).body.equals(content)).toBe(true);
  });

  it('says which documents could not be had; the rest comes', async () => {
    await publishSome();
    rig.host.files.delete(rig.publisher.fileOf('/news/3.html'));
    const wrong = Buffer.from(rig.host.files.get(rig.publisher.fileOf('/film.mp4')) as Uint8Array);
    wrong[1_500_000] = (wrong[1_500_000] ?? 0) ^ 1;
    rig.host.files.set(rig.publisher.fileOf('/film.mp4'), wrong);
    const { failed, here } = await sync();
    expect(failed.map(({ path, code }) => [path, code]).sort()).toEqual([
      ['/film.mp4', 'block-digest'],
      ['/news/3.html', 'object-missing'],
    ]);
    expect(here.documents).toBe(ALL - 2);
  });

  it('refuses before it fetches anything where the cache is too small or has no size, unless it is told another size', async () => {
    await publishSome();
    await rig.proxy.close();
    const refused = (message: RegExp) => ({ code: 'cache-too-small', message: expect.stringMatching(message) });
    const lengths = /^2\.\d MiB are to be fetched, and synced sites may have 1\.7 MiB of the cache /;
    await expect(sync({ cacheBytes: 2_000_000 })).rejects.toMatchObject(refused(lengths));
    expect(objects()).toEqual([]);
    await setCacheSize('1');
    await expect(sync()).rejects.toMatchObject({ code: 'cache-too-small' });
    expect((await sync({ cacheBytes: 50_000_000 })).fetched.documents).toBe(ALL);
    const kept = objects();
    await expect(sync({ cacheBytes: 0 })).rejects.toMatchObject(refused(/^the size of the cache .* is 0/));
    expect(objects()).toEqual(kept);
    await publishUnseen('/new.html');
    await setCacheSize('50');
    expect(await sync()).toMatchObject({ fetched: { documents: 1 }, alreadyThere: { documents: ALL } });
  });

  it('keeps what it brought, whatever else is read, and lets go of what the publication names no more', async () => {
    const publish = (folder: string, from: number, to: number, length: number) =>
      rig.publisher.together(rig.host.files, async () => {
        for (let index = from; index < to; index++)
          await rig.publisher.publish(rig.host.files, `/${folder}/${index}.bin`, { content: randomBytes(length) });
      });
    const read = async (from: number, to: number) => {
      await publish('read', from, to, 30_000);
      for (let index = from; index < to; index++) await get(`/read/${index}.bin`);
    };
    await publish('kept', 0, 8, 20_000);
    await rig.restart({ cacheBytes: 400_000 });
    await sync();
    const kept = objects();
    await rig.restart({ cacheBytes: 400_000 });
    await read(0, 20);
    await rig.restart({ cacheBytes: 400_000 });
    expect(objects().filter((file) => kept.includes(file))).toHaveLength(8);
    await publish('kept', 0, 1, 20_000);
    await sync({ prefixes: ['/kept/0'] }); // the other seven stay
    await read(20, 40);
    await expect.poll(() => objects().filter((file) => kept.includes(file)).length).toBe(7);
  });

  it('counts on the settings page of the Reader that carries it out', async () => {
    await publishSome();
    await rig.proxy.close();
    const connectTo = [parseConnectTo(`:80:127.0.0.1:${rig.host.port}`)];
    const proxy = await startProxy({ ...rig.storage, connectTo, port: 0 }); // a size given here would hide the numbers from the page
    const used = async () => {
      const { text } = await send(proxy.port, '/settings', { headers: { host: `localhost:${proxy.port}` } });
      return Number(/(\d+) of \d+ megabytes/.exec(text)?.[1]);
    };
    onTestFinished(() => proxy.close());
    expect(await used()).toBe(0);
    await sync();
    expect(await used()).toBeGreaterThanOrEqual(2);
  });

  it('goes on where it was ended', async () => {
    await publishSome();
    await rig.proxy.close();
    const ending = new AbortController();
    const onProgress = ({ step, documents }: SyncProgress) => {
      if (step === 'fetching' && documents > 0) ending.abort(new Error('enough'));
    };
    await expect(sync({ signal: ending.signal, onProgress, parallel: 1 })).rejects.toThrow('enough');
    const before = objects().length;
    expect(before).toBeGreaterThan(0);
    const summary = await sync();
    expect([summary.alreadyThere.documents, summary.here.documents]).toEqual([before, ALL]);
  });

  it('waits for what is newest however slow a look is, and says where there was none; a signal ends it', async () => {
    await publishSome();
    expect(await sync()).not.toHaveProperty('failedLook');
    const { version } = rig.publisher.publication;
    Object.assign(rig.limits, { staleWait: 0 });
    try {
      await publishUnseen('/new.html');
      expect((await sync()).fetched.documents).toBe(1);
      const ending = new AbortController();
      let answerNow: () => void = () => undefined;
      rig.host.handlers.set('/.well-known/wispr/2.root.json', (_, response) => {
        answerNow = () => response.writeHead(404).end();
        ending.abort(new Error('enough'));
      });
      await expect(sync({ signal: ending.signal })).rejects.toThrow('enough');
      answerNow();
      rig.host.handlers.clear();
      await publishUnseen('/newer.html');
      const snapshot = `/.well-known/wispr/${version + 2}.snapshot.json`;
      rig.host.handlers.set(snapshot, (_, response) => response.writeHead(500).end());
      expect(await sync()).toMatchObject({
        version: version + 1,
        failedLook: { code: 'content-host-answer' },
        alreadyThere: { documents: ALL + 1 },
        failed: [],
      });
    } finally {
      Object.assign(rig.limits, DEFAULT_LIMITS);
    }
  });
});
