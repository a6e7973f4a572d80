import { get as httpGet, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../client-proxy/limits.ts';
import { collect } from '../../core/encoding/byte-reader.ts';
import { forFile } from '../support/for-file.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

/** Content of more bytes than sockets hold, quickly packed. */
const LARGE = Buffer.alloc(12 * 1024 * 1024, 'a');
const PACKED = gzipSync(LARGE, { level: 1 });
const SMALL = Buffer.from('<p>small</p>'.repeat(2_000));
const BOUND = 2;
const rig = forFile(startHostileReaderRig);
const sockets: Socket[] = [];
beforeAll(async () => {
  const publish = (path: string, content: Buffer, contentCoding?: 'br' | 'gzip') =>
    rig.publisher.publish(rig.host.files, path, { content, metadata: contentCoding ? { contentCoding } : {} });
  await publish('/large.txt', PACKED, 'gzip');
  await publish('/small.html', brotliCompressSync(SMALL), 'br');
  await publish('/plain.txt', SMALL);
});
beforeEach(() => {
  Object.assign(rig.limits, DEFAULT_LIMITS, { changedDeliveries: BOUND, changedStalled: 100 });
  rig.refusals.length = 0;
  rig.host.requests.length = 0;
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const get = (path: string) => send(rig.proxy.port, rig.url(path));

/** Requests, and reads only the head of the answer. */
function askAndStop(path = '/large.txt'): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = httpGet({ host: '127.0.0.1', port: rig.proxy.port, path: rig.url(path), agent: false }, (answer) => {
      resolve(answer.on('error', () => undefined));
    });
    asked.on('error', reject).on('socket', (socket) => sockets.push(socket));
  });
}

/** Tells how an answer ended. */
const endOf = (answer: IncomingMessage) =>
  collect(answer as AsyncIterable<Uint8Array>).then(
    (bytes) => (Buffer.from(bytes).equals(LARGE) ? 'whole' : 'a clean end before the end'),
    ({ code }) => String(code),
  );

describe('attack 65: documents that are decoded for clients', () => {
  it('are all served whole, however many are requested at once', async () => {
    const paths = Array.from({ length: 20 }, (_, n) => (n === 7 ? '/large.txt' : '/small.html'));
    const answers = await Promise.all(paths.map(get));
    for (const [n, { status, body }] of answers.entries())
      expect([status, body.equals(paths[n] === '/small.html' ? SMALL : LARGE)]).toEqual([200, true]);
    expect(rig.refusals).toEqual([]);
  });

  it('are reset where a client reads nothing and others wait', async () => {
    const stopped = [await askAndStop(), await askAndStop()];
    expect((await get('/small.html')).body.equals(SMALL)).toBe(true);
    expect((await Promise.all(stopped.map(endOf))).sort()).toEqual(['ECONNRESET', 'whole']);
    expect(rig.refusals).toEqual([{ code: 'reader-busy', address: 'news.example/large.txt' }]);
  });

  it('are refused with reader-busy where none finishes in time', async () => {
    Object.assign(rig.limits, { changedStalled: 60_000, changedWait: 100 });
    const stopped = [await askAndStop(), await askAndStop()];
    const refused = await get('/small.html');
    expect([refused.status, refusalCode(refused)]).toEqual([503, 'reader-busy']);
    stopped[0]?.destroy();
    await expect.poll(async () => (await get('/small.html')).status).toBe(200);
  });
});
