/** A Reader whose keys come over HTTPCrypt, because its settings say so and the descriptor names the endpoint. */
import { request as ask, createServer } from 'node:http';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import { bindSite, parseConnectTo } from '../../client-proxy/index.ts';
import { storeOptions } from '../../client-proxy/store/locations.ts';
import { SettingsKeeper } from '../../client-proxy/store/settings.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';
import { type ReaderRig, startReaderRig, storageIn } from '../support/reader-rig.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';

const SECRET = 'for subscribers only';
let rig: ReaderRig;
let port: number;
beforeAll(async () => {
  port = await freePort();
  const httpcrypt = { url: `http://127.0.0.1:${port}/a/`, listen: { host: '127.0.0.1', port }, rotateMinutes: 60 };
  rig = await startReaderRig({ keyServer: { httpcrypt } });
  await rig.publisher.publish(rig.host.files, '/a.html', { content: SECRET });
});
afterAll(() => rig.close());

/** Returns what the key server logs of messages while `work` is done, by listener. */
async function messagesDuring(work: () => Promise<unknown>): Promise<string[]> {
  const before = rig.keyServer.log().length;
  await work();
  const lines = rig.keyServer.log().slice(before).trim().split('\n').filter(Boolean);
  return lines
    .map((line) => JSON.parse(line) as { listener?: string; method?: string; route?: string; status?: number })
    .filter(({ method, route }) => method === 'POST' && route?.startsWith('/v1/'))
    .map(({ listener = 'https', route, status }) => `${listener} ${route} ${status}`);
}

async function choose(storage: ReturnType<typeof storageIn>): Promise<void> {
  const store = await ReaderStore.open(storeOptions(storage));
  new SettingsKeeper(store.preferences).save(new Map([['httpcrypt', 'on']]));
  store.close();
}

/** Reads one document by a Reader of its own, which has no key yet. */
async function readWith(storage: ReturnType<typeof storageIn>, rules: readonly string[] = []) {
  const connectTo = [`:80:127.0.0.1:${rig.host.port}`, ...rules].map(parseConnectTo);
  const { port } = await rig.another({ ...storage, cacheBytes: 0, connectTo });
  return send(port, rig.url('/a.html'));
}

it('is not used unless the reader has chosen it', async () => {
  const storage = await rig.anotherStorage();
  const messages = await messagesDuring(async () => expect((await readWith(storage)).text).toBe(SECRET));
  expect(messages).toEqual(['https /v1/keys 200']);
});

it('brings keys to a Reader that has chosen it, by nothing else', async () => {
  const storage = await rig.anotherStorage();
  await choose(storage);
  const messages = await messagesDuring(async () => expect((await readWith(storage)).text).toBe(SECRET));
  expect(messages).toEqual(['httpcrypt /v1/keys 200']);
});

it('connects a device that has chosen it before', async () => {
  const storage = storageIn(`${rig.directory}/new`);
  await choose(storage);
  const connectTo = [parseConnectTo(`:80:127.0.0.1:${rig.host.port}`)];
  const link = await rig.keyServer.invite();
  const trustSites = [rig.publisher.site];
  const messages = await messagesDuring(() => bindSite({ ...storage, connectTo, link, trustSites }));
  expect(messages).toEqual(['httpcrypt /v1/bindings 200']);
});

it('is asked again when it is busy, after the pause that it names', async () => {
  const storage = await rig.anotherStorage();
  await choose(storage);
  const answered: number[] = [];
  const hop = createServer((request, response) => {
    const isBusy = request.method === 'POST' && answered.length === 0;
    if (isBusy) response.writeHead(503, { 'retry-after': '1' }).end();
    if (request.method === 'POST') answered.push(isBusy ? 503 : 200);
    if (isBusy) return;
    const { method, url, headers } = request;
    const onwards = ask({ port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onwards);
  });
  const hopPort = await listenOnLoopback(hop);
  onTestFinished(() => closeServer(hop));
  expect((await readWith(storage, [`127.0.0.1:${port}:127.0.0.1:${hopPort}`])).text).toBe(SECRET);
  expect(answered).toEqual([503, 200]);
});

it('attack 115: where the endpoint is shut, the key is refused, and nothing goes over HTTPS', async () => {
  const storage = await rig.anotherStorage();
  await choose(storage);
  const elsewhere = `127.0.0.1:${port}:127.0.0.1:${await freePort()}`;
  const messages = await messagesDuring(async () => {
    const answer = await readWith(storage, [elsewhere]);
    expect([answer.status, refusalCode(answer)]).toEqual([502, 'channel-key-refused']);
    expect(answer.text).toContain('HTTPCrypt');
  });
  expect(messages).toEqual([]);
});

it('attack 115: leads no window to the reading site by HTTPS unasked, whatever the publisher has signed', async () => {
  const storage = await rig.anotherStorage();
  await choose(storage);
  rig.publisher.publication.setSettings({ ...TEST_SETTINGS, redirect: 'always' });
  await rig.publisher.publish(rig.host.files, '/b.html', { content: SECRET, set: await createSetKey() });
  const { port } = await rig.another({ ...storage, connectTo: [parseConnectTo(`:80:127.0.0.1:${rig.host.port}`)] });
  const answer = await send(port, rig.url('/b.html'), { headers: { accept: 'text/html' } });
  expect([answer.status, refusalCode(answer)]).toEqual([403, 'not-entitled']);
  expect(answer.text).toContain('<a class="b" href="https://read.news.example/b.html">Read at read.news.example</a>');
});
