/** Requests of the reader to real caches: metadata by validators, so that they can answer 304; objects once. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type CacheServer, startSquid, startVarnish } from '../../cache-config/servers.ts';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { DEFAULT_LIMITS } from '../../client-proxy/limits.ts';
import { forFile } from '../support/for-file.ts';
import { send } from '../support/http-client.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

const TIMESTAMP = '/.well-known/wispr/timestamp.json';
const rig = forFile(startHostileReaderRig); // a key server without timestamp
let squid: CacheServer;
/** Condition and status of every time that the host itself was asked for the timestamp. */
const atHost: [condition: string | undefined, status: number][] = [];

beforeAll(async () => {
  const sites = [{ site: 'news.example', host: '127.0.0.1', port: rig.host.port }];
  squid = await startSquid({ connectLoopback: true, sites });
  rig.host.handlers.set(TIMESTAMP, (request, response) => {
    const file = rig.host.files.get(TIMESTAMP) as Uint8Array;
    const etag = `"${rig.publisher.publication.version}"`;
    const condition = request.headers['if-none-match'];
    const status = condition === etag ? 304 : 200;
    atHost.push([condition, status]);
    const modified = new Date(1_700_000_000_000 + 1000 * rig.publisher.publication.version).toUTCString();
    response.writeHead(status, { etag, 'last-modified': modified, 'cache-control': 'public, max-age=3600' });
    response.end(status === 200 ? file : undefined);
  });
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'signed' });
});
afterAll(() => squid.stop());
beforeEach(() => void Object.assign(rig.limits, DEFAULT_LIMITS));

const read = (headers: Record<string, string> = {}, path = '/a.html') =>
  send(rig.proxy.port, rig.url(path), { headers });

/** Status and hit of what the cache answered for the timestamp, once there are so many. */
async function answers(cache: CacheServer, count: number): Promise<[number, boolean | undefined][]> {
  const lines = async () => (await cache.requests()).filter(({ url }) => url.endsWith(TIMESTAMP));
  await expect.poll(async () => (await lines()).length).toBeGreaterThanOrEqual(count);
  return (await lines()).map(({ status, hit }) => [status, hit]);
}

describe('a look for a newer publication', () => {
  it('through Squid is answered 304 by it; a reload, by the host, through it', async () => {
    await rig.restart({ parentProxy: squid.url, connectTo: [] });
    atHost.length = 0;
    await rig.proxy.check();
    expect(atHost.splice(0)).toEqual([[undefined, 200]]);
    await rig.proxy.check();
    const [[condition, status] = []] = atHost.splice(0);
    expect([condition?.startsWith('"'), status]).toEqual([true, 304]);
    expect((await answers(squid, 2)).map(([one]) => one)).toEqual([200, 304]);
    Object.assign(rig.limits, { checkIntervalUrgent: 0 });
    expect((await read({ 'cache-control': 'no-cache' })).text).toBe('signed');
    expect(atHost.splice(0).map(([, one]) => one)).toEqual([304]);
    // An ordinary look, because the last one was long ago: the cache speaks for the host.
    Object.assign(rig.limits, { checkInterval: 0 });
    expect((await read()).text).toBe('signed');
    expect((await answers(squid, 4))[3]).toEqual([304, true]);
    expect(atHost).toEqual([]);
  });

  it('through Varnish is answered 304 by it', async () => {
    const varnish = await startVarnish({ backend: { host: '127.0.0.1', port: rig.host.port } });
    onTestFinished(() => varnish.stop());
    await rig.restart({ connectTo: [parseConnectTo(`:80:127.0.0.1:${varnish.port}`)] });
    await rig.proxy.check();
    await rig.proxy.check();
    expect((await answers(varnish, 2)).map(([status]) => status)).toEqual([200, 304]);
  });
});

it('a parent proxy that is a real Squid carries documents, and keeps them: the content host is asked once', async () => {
  await rig.restart({ parentProxy: squid.url, connectTo: [] });
  const content = Buffer.alloc(500_000, 'kept by a cache that cannot read it ');
  const object = await rig.publisher.publish(rig.host.files, '/a.bin', { content });
  const file = rig.publisher.fileOf('/a.bin');
  const fields = { 'cache-control': 'public, max-age=600, no-transform', 'content-length': object.length };
  rig.host.handlers.set(file, (_, response) => response.writeHead(200, fields).end(object));
  for (let reading = 0; reading < 3; reading++) expect((await read({}, '/a.bin')).body.equals(content)).toBe(true);
  const part = await read({ range: 'bytes=400000-400009' }, '/a.bin');
  expect([part.status, part.body.equals(content.subarray(400_000, 400_010))]).toEqual([206, true]);
  expect(rig.host.requests.filter(({ url }) => url === file)).toHaveLength(1);
});
