/** Documents that are decoded on their way take memory until they have left: so many at a time, whatever clients do. */
import { once } from 'node:events';
import { get as httpGet, IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ChangedDeliveries } from '../../client-proxy/documents/changed-deliveries.ts';
import { LIMITS } from '../../client-proxy/limits.ts';
import { collect } from '../../core/encoding/byte-reader.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { type ReaderRig, startReaderRig } from '../support/reader-rig.ts';

/** More than sockets hold, and quickly packed. */
const LARGE = Buffer.alloc(16 * 1024 * 1024, 'a');
const PACKED = gzipSync(LARGE, { level: 1 });
const SMALL = Buffer.from('<p>small</p>'.repeat(2_000));
const BOUND = 2;

const before = { ...LIMITS };
let rig: ReaderRig;
const sockets: Socket[] = [];
beforeAll(async () => {
  rig = await startReaderRig();
  const publish = (path: string, content: Buffer, contentCoding?: 'br' | 'gzip') =>
    rig.publisher.publish(rig.host.files, path, { content, metadata: contentCoding ? { contentCoding } : {} });
  await publish('/large.txt', PACKED, 'gzip');
  await publish('/small.html', brotliCompressSync(SMALL), 'br');
  await publish('/plain.txt', SMALL);
});
beforeEach(() => {
  Object.assign(LIMITS, before, { changedDeliveries: BOUND, changedStalled: 100 });
  rig.refusals.length = 0;
  rig.host.requests.length = 0;
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  Object.assign(LIMITS, before);
  await rig.close();
});

const get = (path: string) => send(rig.proxy.port, rig.url(path));

/** Asks, and takes nothing of what comes but its head. */
function askAndStop(path = '/large.txt'): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = httpGet({ host: '127.0.0.1', port: rig.proxy.port, path: rig.url(path), agent: false }, (answer) => {
      resolve(answer.on('error', () => undefined));
    });
    asked.on('error', reject).on('socket', (socket) => sockets.push(socket));
  });
}

/** The same by HTTP/1.0, where the end of a connection is the proper end of an answer. */
async function askOldAndStop(path = '/large.txt'): Promise<{ socket: Socket; end: Promise<string> }> {
  const socket = connect(rig.proxy.port, '127.0.0.1');
  sockets.push(socket);
  const { promise: end, resolve } = Promise.withResolvers<string>();
  socket
    .on('end', () => resolve('a clean end'))
    .on('error', ({ code }: NodeJS.ErrnoException) => resolve(String(code)));
  await once(socket, 'connect');
  socket.write(`GET ${rig.url(path)} HTTP/1.0\r\n\r\n`);
  await once(socket, 'readable');
  return { socket, end };
}

/** To nobody. */
const answer = () => new ServerResponse(new IncomingMessage(new Socket()));

/** What broke it off, or that nothing did. */
const endOf = (answer: IncomingMessage) =>
  collect(answer as AsyncIterable<Uint8Array>).then(
    (bytes) => (Buffer.from(bytes).equals(LARGE) ? 'whole' : 'a clean end before the end'),
    ({ code }) => String(code),
  );

describe('attack 65: documents that are decoded for clients', () => {
  it('all come whole, however many are asked for at once', async () => {
    const paths = Array.from({ length: 60 }, (_, n) => (n === 7 ? '/large.txt' : '/small.html'));
    const answers = await Promise.all(paths.map(get));
    for (const [n, { status, body }] of answers.entries())
      expect([status, body.equals(paths[n] === '/small.html' ? SMALL : LARGE)]).toEqual([200, true]);
    expect(rig.refusals).toEqual([]);
  });

  it('and take nothing make room where others wait, as many as are needed, visibly', async () => {
    const stopped = [await askAndStop(), await askAndStop()];
    expect((await get('/small.html')).body.equals(SMALL)).toBe(true);
    expect((await Promise.all(stopped.map(endOf))).sort()).toEqual(['ECONNRESET', 'whole']);
    expect(rig.refusals).toEqual([{ code: 'reader-busy', address: 'news.example/large.txt' }]);
  });

  it('end by a reset also where an ordinary end would be taken for the proper one', async () => {
    const stopped = [await askOldAndStop(), await askOldAndStop()];
    expect((await get('/small.html')).status).toBe(200);
    for (const { socket } of stopped) socket.resume();
    expect((await Promise.all(stopped.map(({ end }) => end))).sort()).toEqual(['ECONNRESET', 'a clean end']);
  });

  it('and stay where nobody waits, and where the client was just about to take something', async () => {
    Object.assign(LIMITS, { changedStalled: 60_000 });
    const stopped = [await askAndStop(), await askAndStop()];
    expect((await get('/plain.txt')).body.equals(SMALL)).toBe(true); // it needs no decoder, so it is not concerned
    const waiting = get('/small.html');
    expect(await Promise.all(stopped.map(endOf))).toEqual(['whole', 'whole']);
    expect((await waiting).body.equals(SMALL)).toBe(true);
    expect(rig.refusals).toEqual([]);
  });

  it('are refused with words where none makes room, and the next one comes when there is room again', async () => {
    Object.assign(LIMITS, { changedStalled: 60_000, changedWait: 100 });
    const stopped = [await askAndStop(), await askAndStop()];
    const refused = await get('/small.html');
    expect([refused.status, refusalCode(refused)]).toEqual([503, 'reader-busy']);
    stopped[0]?.destroy();
    await expect.poll(async () => (await get('/small.html')).status).toBe(200);
  });

  it('wait for their turn, and whoever leaves before takes nobody’s place', async () => {
    Object.assign(LIMITS, { changedDeliveries: 1, changedStalled: 60_000 });
    const stopped = await askAndStop();
    const asked = () => rig.host.requests.filter(({ url }) => url === rig.publisher.fileOf('/small.html')).length;
    const leaving = connect(rig.proxy.port, '127.0.0.1');
    leaving.write(`GET ${rig.url('/small.html')} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await expect.poll(asked).toBe(1);
    leaving.destroy();
    const others = [1, 2, 3].map(() => get('/small.html'));
    await expect.poll(asked).toBe(4);
    stopped.destroy();
    for (const { body } of await Promise.all(others)) expect(body.equals(SMALL)).toBe(true);
  });

  it('begin in the order in which they came, one for each that ends, however it ends', async () => {
    const deliveries = new ChangedDeliveries();
    const begun: number[] = [];
    const ends = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
    const all = ends.map(({ promise }, n) =>
      deliveries.run(answer(), () => {
        begun.push(n);
        return promise;
      }),
    );
    const settled = Promise.allSettled(all);
    ends[1]?.reject(new Error('broken off'));
    await expect(all[1]).rejects.toThrow('broken off');
    await expect.poll(() => begun).toEqual([0, 1, 2]);
    for (const { resolve } of ends) resolve();
    await settled;
    expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('make room in the order in which nothing was taken of them any more', async () => {
    const deliveries = new ChangedDeliveries();
    const ended: string[] = [];
    const ends = Promise.withResolvers<void>();
    const deliver = async (name: string, first: Promise<void>) => {
      const one = answer();
      const working = deliveries.run(one, async () => {
        await deliveries.stalled(one, first);
        await deliveries.stalled(one, ends.promise);
      });
      await working.catch(({ code }) => ended.push(`${name} ${code}`));
    };
    const takes = Promise.withResolvers<void>();
    const all = [deliver('begun first', takes.promise), deliver('begun second', new Promise(() => undefined))];
    takes.resolve(); // the first has taken something, later than the second
    await takes.promise;
    await deliveries.run(answer(), async () => undefined);
    ends.resolve();
    await all[0];
    expect(ended).toEqual([]);
  });

  it('make room also where they stop taking while others wait already, and say why they ended', async () => {
    Object.assign(LIMITS, { changedDeliveries: 1, changedStalled: 20 });
    const deliveries = new ChangedDeliveries();
    const [slow, begins, stops] = [answer(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slowOne = deliveries.run(slow, () => begins.promise.then(() => deliveries.stalled(slow, stops.promise)));
    const waiting = deliveries.run(answer(), async () => undefined);
    begins.resolve();
    await waiting;
    stops.resolve();
    await expect(slowOne).rejects.toMatchObject({ code: 'reader-busy' });
  });

  it('are not begun for clients that have left', async () => {
    Object.assign(LIMITS, { changedDeliveries: 1 });
    const deliveries = new ChangedDeliveries();
    const ends = Promise.withResolvers<void>();
    const first = deliveries.run(answer(), () => ends.promise);
    const left = answer();
    const never = deliveries.run(left, () => Promise.reject(new Error('it was begun')));
    left.destroy();
    left.emit('close');
    await never;
    ends.resolve();
    await first;
  });

  it('nor wait for their turn where the client has left before there was a line', async () => {
    Object.assign(LIMITS, { changedDeliveries: 1, changedWait: 50 });
    const deliveries = new ChangedDeliveries();
    const ends = Promise.withResolvers<void>();
    const first = deliveries.run(answer(), () => ends.promise);
    const left = answer();
    left.destroy();
    left.emit('close');
    await nextTurn(); // Node.js may say so once more
    await deliveries.run(left, () => Promise.reject(new Error('it was begun')));
    ends.resolve();
    await first;
  });
});
