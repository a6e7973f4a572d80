/** Large documents, whose blocks are opened on threads: through the running proxy, damaged, cut off, left, crowded, and with a thread that ends. */
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { RunMemory } from '../../client-proxy/documents/opening/run-memory.ts';
import { LIMITS } from '../../client-proxy/limits.ts';
import { collect } from '../../core/encoding/byte-reader.ts';
import { forEachTest } from '../support/for-file.ts';
import { send } from '../support/http-client.ts';
import { filesBelow } from '../support/kept-objects.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';
import type { DocumentWish } from '../support/test-publisher.ts';
import { inRelease, runs } from '../support/tier.ts';

const MiB = 1024 * 1024;
const CONTENT = randomBytes(3 * MiB + 777);
/** Bytes of a block of such a document. */
const BLOCK = 4 * 16_400;

/** Threads that were started here. */
const threads: Worker[] = [];
process.on('worker', (thread: Worker) => threads.push(thread));

beforeEach(() => {
  threads.length = 0;
});
const rig = forEachTest(() => startHostileReaderRig({ cacheBytes: 128 * MiB }));

const get = (path: string, headers: Record<string, string> = {}) => send(rig.proxy.port, rig.url(path), { headers });
const flipped = (bytes: Uint8Array, at: number) => bytes.with(at, (bytes[at] as number) ^ 1);

const keptFiles = () => filesBelow(join(rig.storage.dataDirectory, 'cache', 'objects'));

/** Publishes it, and reads it until it is kept: a copy is given up where the disk is slower than the reader. */
async function readOnce(path: string, content = CONTENT): Promise<{ file: string; object: Uint8Array }> {
  const object = await rig.publisher.publish(rig.host.files, path, { content });
  expect((await get(path)).body.equals(content)).toBe(true);
  const kept = async () => {
    const files = keptFiles();
    if (files.length === 0) await get(path);
    return files;
  };
  await expect.poll(kept).toHaveLength(1);
  const [file = ''] = keptFiles();
  expect((await readFile(file)).equals(object)).toBe(true);
  return { file, object };
}

/** Asks, and stops reading after the first bytes. */
function askAndStop(path: string, range?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = range === undefined ? {} : { range };
    const target = { host: '127.0.0.1', port: rig.proxy.port, path: rig.url(path), agent: false, headers };
    const asked = httpGet(target, (answer) => {
      answer.on('error', () => undefined);
      answer.once('readable', () => resolve(answer));
    });
    asked.on('error', reject);
  });
}

const crowdOf = (count: number, path: string, range?: string) =>
  Promise.all(Array.from({ length: count }, () => askAndStop(path, range)));

const rest = (answer: IncomingMessage) => collect(answer as AsyncIterable<Uint8Array>);

describe('a large document', () => {
  it('is opened on a thread, wherever it comes from and whichever part of it is wanted', async () => {
    await rig.publisher.publishSigned(rig.host.files, '/public.bin', { content: CONTENT });
    await rig.publisher.publish(rig.host.files, '/a.bin', { content: CONTENT });
    for (const path of ['/a.bin', '/public.bin'])
      for (const _from of ['its host', 'what was kept']) {
        expect((await get(path)).body.equals(CONTENT)).toBe(true);
        for (const [start, end] of [
          [0, CONTENT.length - 1],
          [0, 2 * MiB],
          [65_535, 65_537 + MiB],
          [1_500_000, CONTENT.length],
        ] as const) {
          const { status, body } = await get(path, { range: `bytes=${start}-${end - 1}` });
          expect([status, body.equals(CONTENT.subarray(start, end))]).toEqual([206, true]);
        }
      }
    expect(threads.length).toBeGreaterThan(0);
  });

  it('with a damaged block in what was kept comes from its host from there on, and is kept anew', async () => {
    const { file, object } = await readOnce('/a.bin');
    for (const at of [20 * BLOCK, object.length - 1]) {
      await writeFile(file, flipped(object, at));
      expect((await get('/a.bin')).body.equals(CONTENT)).toBe(true);
      await get('/a.bin');
      await expect.poll(async () => (await readFile(file).catch(() => Buffer.of())).equals(object)).toBe(true);
    }
    await writeFile(file, object.subarray(0, 2 * MiB));
    expect((await get('/a.bin')).body.equals(CONTENT)).toBe(true);
  });

  it('with a damaged block, and no other host to ask, ends there, visibly; everything before it is right', async () => {
    const { file, object } = await readOnce('/a.bin');
    const expectCut = async (damagedBlock: number) => {
      const { body, complete } = await get('/a.bin');
      expect([complete, body.equals(CONTENT.subarray(0, body.length))]).toEqual([false, true]);
      expect(body.length).toBeLessThanOrEqual(damagedBlock * 65_536);
    };
    rig.host.files.set(rig.publisher.fileOf('/a.bin'), flipped(object, object.length - 5 * BLOCK));
    await writeFile(file, flipped(object, 30 * BLOCK));
    await expectCut(Math.ceil(CONTENT.length / 65_536) - 4);
    await expectCut(Math.ceil(CONTENT.length / 65_536) - 4); // nothing of it was kept
    expect(keptFiles()).toEqual([]);
    rig.host.files.set(rig.publisher.fileOf('/a.bin'), Buffer.concat([object, Buffer.from('x')]));
    expect((await get('/a.bin')).complete).toBe(false);
    rig.host.files.set(rig.publisher.fileOf('/a.bin'), object.subarray(0, 31 * BLOCK));
    await expectCut(31);
  });

  it('ends visibly where its thread ends, and the next one has a thread again', async () => {
    await readOnce('/a.bin');
    const begun = await askAndStop('/a.bin');
    const stopped = threads.splice(0);
    await Promise.all(stopped.map((thread) => thread.terminate()));
    await expect(rest(begun)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(keptFiles()).toHaveLength(1); // the entry was not at fault
    expect((await get('/a.bin')).body.equals(CONTENT)).toBe(true);
    expect([stopped.length > 0, threads.length > 0]).toEqual([true, true]);
  });

  inRelease(() => {
    it('comes whole to everybody, however many are slow or leave: all memory for threads comes back', async () => {
      const content = randomBytes(12 * MiB); // sockets hold less
      await readOnce('/a.bin', content);
      const crowd = Math.ceil((0.8 * LIMITS.runMemory) / LIMITS.run);
      const slow = await crowdOf(crowd, '/a.bin');
      expect((await get('/a.bin')).body.equals(content)).toBe(true);
      for (const answer of slow.splice(0, crowd - 8)) answer.destroy();
      for (const answer of slow) expect(Buffer.from(await rest(answer)).equals(content)).toBe(true);
      for (const range of [undefined, 'bytes=1000000-5999999,6500000-'])
        for (const answer of await crowdOf(crowd, '/a.bin', range)) answer.destroy();
      let opened = 0;
      for (const thread of threads) thread.on('message', () => opened++);
      const onThreads = async () => {
        opened = 0;
        await get('/a.bin');
        return opened;
      };
      await expect.poll(onThreads).toBe(24); // runs of eight blocks, all of them behind the first block
    });
  });

  it('is never altered by what is read beside it: memory is used again when it is not used any more', async () => {
    const contents = new Map<string, Buffer>();
    const publish = async (path: string, content: Buffer, document: DocumentWish) => {
      contents.set(path, content);
      await rig.publisher.publish(rig.host.files, path, document);
    };
    for (const number of [0, 1]) {
      const packed = randomBytes(2 * MiB + number);
      const metadata = { mediaType: 'video/mp4', contentCoding: 'gzip' } as const;
      await publish(`/packed${number}.bin`, packed, { content: gzipSync(packed), metadata });
      const page = Buffer.from(`<p>${randomBytes(MiB + number).toString('hex')}`);
      await publish(`/page${number}.html`, page, { content: page });
    }
    const gateway = new URL((await rig.proxy.gatewayUrl('news.example')) ?? '');
    const read = async (path: string, pause: number) => {
      const content = contents.get(path) as Buffer;
      const place = path.endsWith('.html') ? { path, headers: { host: gateway.host } } : { path: rig.url(path) };
      expect((await readWithPauses(place, pause)).equals(content)).toBe(true);
    };
    const readers = Array.from({ length: 8 }, async (_, reader) => {
      const paths = [...contents.keys()];
      for (let round = 0; round < runs(3, 8); round++)
        await read(paths[(reader + round) % paths.length] as string, reader % 3);
    });
    await Promise.all(readers);
  });
});

it('memory for runs is lent up to its bound, and no further', () => {
  const memory = new RunMemory();
  const lent: ArrayBuffer[] = [];
  while (memory.has(1, LIMITS.run) && lent.length < 1000) lent.push(memory.acquire(LIMITS.run));
  expect(lent.length).toBe(Math.floor(LIMITS.runMemory / LIMITS.run));
  memory.release(lent[0] as ArrayBuffer);
  expect(memory.has(1, LIMITS.run)).toBe(true);
  expect(memory.acquire(LIMITS.run)).toBe(lent[0]);
  memory.forget(LIMITS.run);
  expect([memory.has(1, LIMITS.run), memory.has(2, LIMITS.run)]).toEqual([true, false]);
});

/** Asks, and pauses so many milliseconds now and then. */
function readWithPauses(place: { path: string; headers?: Record<string, string> }, pause: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const asked = httpGet({ host: '127.0.0.1', port: rig.proxy.port, agent: false, ...place }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => {
        parts.push(part);
        if (pause === 0 || parts.length % 4 > 0) return;
        answer.pause();
        setTimeout(pause).then(() => answer.resume());
      });
      answer.on('end', () => resolve(Buffer.concat(parts))).on('error', reject);
    });
    asked.on('error', reject);
  });
}
