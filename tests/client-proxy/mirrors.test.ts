/** Sites with several content hosts: slow, dead, refusing, lying, breaking off. Real servers, and the running proxy. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HostReport } from '../../client-proxy/index.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import type { HostileKeyServer } from '../support/hostile-key-server.ts';
import { send } from '../support/http-client.ts';
import { CleanUp, type ReaderRig, startHostileReaderRig } from '../support/reader-rig.ts';

const cleanUp = new CleanUp();
const told: HostReport[] = [];
/** The publisher names the first one before the second. */
let first: ContentHost;
let second: ContentHost;
let rig: ReaderRig<HostileKeyServer>;

beforeEach(async () => {
  told.length = 0;
  first = cleanUp.use(await startContentHost());
  await start([first.origin]);
});
afterEach(() => cleanUp.run());

/** The rig's own host is the last one. */
async function start(origins: readonly string[]): Promise<void> {
  const onHostFault = (report: HostReport) => told.push(report);
  const site = { site: 'news.example', reading: 'https://read.news.example' };
  const sites = ({ origin }: ContentHost) => [{ ...site, content: [...origins, origin] }];
  rig = await startHostileReaderRig({ onHostFault }, { sites });
  Object.assign(rig.limits, { hedgeAfter: 60_000 }); // hosts that are not meant to be slow are not, however busy the machine is
  cleanUp.add(() => rig.close());
  second = rig.host;
}

/** Publishes a document on both hosts. */
async function publish(path: string, content: Uint8Array): Promise<string> {
  await rig.publisher.publish(rig.host.files, path, { content });
  for (const [name, file] of rig.host.files) first.files.set(name, file);
  await rig.proxy.check();
  for (const host of [first, second]) host.requests.length = 0;
  return rig.publisher.fileOf(path);
}

const get = (path: string, headers: Record<string, string> = {}) => send(rig.proxy.port, rig.url(path), { headers });
const asked = ({ requests }: ContentHost, file: string) => requests.filter(({ url }) => url === file);
const faults = () =>
  rig.proxy.health
    .reports()
    .map(({ origin, fault }) => [origin, fault])
    .sort(([, one = ''], [, other = '']) => one.localeCompare(other));

/** Sends the beginning of the whole object, and then does something else. */
const beginning =
  (host: ContentHost, file: string, length: number, then: (response: ServerResponse) => void) =>
  (_: IncomingMessage, response: ServerResponse) => {
    const object = host.files.get(file) as Uint8Array;
    response.writeHead(200, { 'content-length': object.length });
    response.write(object.subarray(0, length), () => then(response));
  };

describe('of several content hosts', () => {
  it.each([TIMESTAMP_FILE, '2.root.json'])(
    'attack 38: one that gives %s byte by byte holds no check up',
    async (file) => {
      await publish('/a.html', Buffer.from('signed'));
      let drips = 0;
      first.handlers.set(METADATA_PATH + file, (_, response) => {
        const drip = setInterval(() => response.write(' ', () => drips++), 5);
        response.on('close', () => clearInterval(drip));
      });
      Object.assign(rig.limits, { timestampTimeout: 200, slowestUnpinned: 300, hedgeAfter: 0 });
      rig.publisher.afterPublishing = async () => undefined;
      await rig.publisher.publish(rig.host.files, '/a.html', { content: 'newer' });
      const late = AbortSignal.timeout(10_000);
      await Promise.race([rig.proxy.check(), once(late, 'abort').then(() => Promise.reject(late.reason))]);
      expect(drips).toBeGreaterThan(20);
      expect((await get('/a.html')).body.toString()).toBe('newer');
    },
  );

  it('a slow one is not given up, but the next one is asked beside it; for a while it is asked last', async () => {
    Object.assign(rig.limits, { hedgeAfter: 300 });
    const content = randomBytes(300_000);
    const file = await publish('/a.bin', content);
    const waiting: ServerResponse[] = [];
    let left = 0;
    first.handlers.set(file, (request, response) => {
      waiting.push(response);
      request.on('close', () => left++);
      response.on('close', () => left++);
    });
    expect((await get('/a.bin')).body.equals(content)).toBe(true);
    expect([waiting.length, asked(second, file).length]).toEqual([1, 1]);
    expect(faults()).toEqual([[first.origin, 'slow']]);
    expect(told).toMatchObject([{ origin: first.origin, fault: 'slow' }]);
    await expect.poll(() => left).toBeGreaterThan(0); // nothing is left hanging
    expect((await get('/a.bin')).body.equals(content)).toBe(true);
    expect([waiting.length, asked(second, file).length]).toEqual([1, 2]);
  });

  it('one that gives wrong bytes is passed over, remembered, and the reader is told', async () => {
    const content = randomBytes(300_000);
    const file = await publish('/a.bin', content);
    const object = second.files.get(file) as Uint8Array;
    for (const at of [40, 2000]) {
      const wrong = Uint8Array.from(object);
      wrong[at] = (wrong[at] ?? 0) ^ 1;
      first.files.set(file, wrong);
      expect((await get('/a.bin')).body.equals(content)).toBe(true);
    }
    expect(faults()).toEqual([[first.origin, 'wrong']]);
    expect(told).toMatchObject([{ origin: first.origin, fault: 'wrong', code: 'head-unexpected' }]);
    expect(asked(first, file)).toHaveLength(1); // the second time it was not asked at all
  });

  it('a host that falls silent in the middle is replaced by the next one, from there by a range', async () => {
    Object.assign(rig.limits, { bodyTimeoutAmongSeveral: 500 });
    const content = randomBytes(500_000);
    const file = await publish('/a.bin', content);
    first.handlers.set(
      file,
      beginning(first, file, 300_000, () => undefined),
    );
    const answer = await get('/a.bin');
    expect([answer.complete, answer.body.equals(content)]).toEqual([true, true]);
    const [{ headers } = { headers: {} as IncomingMessage['headers'] }] = asked(second, file);
    expect(headers.range).toMatch(/^bytes=2\d{5}-\d+$/);
    expect(faults()).toEqual([[first.origin, 'dead']]);
  });

  it('ranges and public documents go on from another one, too; so does one that ignores ranges', async () => {
    const content = randomBytes(2_500_000);
    await rig.publisher.publishSigned(rig.host.files, '/public.bin', { content });
    const file = await publish('/a.bin', content);
    for (const name of [file, rig.publisher.contentOf('/public.bin')]) {
      const object = second.files.get(name) as Uint8Array;
      second.handlers.set(name, (_, response) => response.end(object)); // the answer is always whole
      first.handlers.set(name, (request, response) => {
        const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? 'bytes=0-')?.[1]);
        response.writeHead(request.headers.range ? 206 : 200, { 'content-length': object.length - start });
        response.write(object.subarray(start, start + 200_000), () => response.destroy());
      });
    }
    for (const path of ['/a.bin', '/public.bin']) {
      expect((await get(path)).body.equals(content)).toBe(true);
      const part = await get(path, { range: 'bytes=1900000-2400000' });
      expect([part.status, part.body.equals(content.subarray(1_900_000, 2_400_001))]).toEqual([206, true]);
    }
  });

  it('a cache that holds wrong bytes is passed by once: the host behind it is asked', async () => {
    await start([]);
    await rig.publisher.publish(second.files, '/a.bin', { content: 'behind the cache' });
    const file = rig.publisher.fileOf('/a.bin');
    const object = second.files.get(file);
    second.handlers.set(file, (request, response) =>
      response.end(request.headers['cache-control'] === 'no-cache' ? object : 'what the cache holds'),
    );
    expect((await get('/a.bin')).text).toBe('behind the cache');
  });
});
