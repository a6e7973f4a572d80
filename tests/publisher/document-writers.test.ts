/** Documents written on all cores: every one is opened again by the reader. */
import { createReadStream } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomBytes, sha256 } from '#primitives';
import { padmeLength } from '../../core/crypto/padding.ts';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { messageLength } from '../../core/object/geometry.ts';
import { payloadShape } from '../../core/object/header.ts';
import { readUnverifiedHead } from '../../core/object/read-head.ts';
import { SMALL_FILE } from '../../publisher/protect/content.ts';
import { isLeftoverName, objectFile } from '../../publisher/protect/writers/files.ts';
import type { WriteTask } from '../../publisher/protect/writers/jobs.ts';
import { startThread, ThreadPool } from '../../publisher/protect/writers/thread-pool.ts';
import { WritersRig } from '../support/document-writers.ts';

const MiB = 1024 * 1024;
const TEXT = 'All the news that is fit to print, and some that is not. '.repeat(40);

let rig: WritersRig;
beforeEach(async () => {
  rig = await WritersRig.create();
});
afterEach(() => rig[Symbol.asyncDispose]());

const SIZES = [0, 1, 511, 512, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, SMALL_FILE, SMALL_FILE + 1];
/** One run of blocks for a thread and two; and blocks of 16 chunks. */
const LARGE = [2 * SMALL_FILE, 16 * MiB + 3];

describe('a document of any size comes back byte for byte', () => {
  it.each<[string, Partial<WriteTask>, number[]]>([
    ['encrypted', {}, [...SIZES, ...LARGE]],
    ['padded', { padding: true }, [...SIZES, 2 * SMALL_FILE]],
    ['public', { set: undefined }, SIZES],
    ['in a page', { carrier: 'html', fallbackPage: '<title>Read</title>' }, SIZES],
  ])('%s', async (_, wish, sizes) => {
    const writers = rig.start();
    const tasks = await Promise.all(sizes.map((size) => rig.task(`/${size}/a.bin`, randomBytes(size), wish)));
    const written = await Promise.all(tasks.map((task) => writers.write(task)));
    for (const [index, task] of tasks.entries()) {
      const document = written[index];
      if (document === undefined) throw new Error('every task is answered');
      if (document.staged) await writers.place({ kind: 'carrier', path: task.path, head: document.head });
      const { content, metadata } = await rig.read(task, document);
      expect(content.equals(await readFile(task.source.file)), task.path).toBe(true);
      expect(metadata.lastModified).toBe(task.source.lastModified);
      expect(document).toMatchObject({ reused: false, staged: task.carrier === 'html' });
    }
    expect((await rig.files()).filter(isLeftoverName)).toEqual([]);
  });

  it('a large text, which is compressed on its way', async () => {
    const task = await rig.task('/large.txt', TEXT.repeat(1900));
    const written = await rig.start().write(task);
    const { content, metadata } = await rig.read(task, written);
    expect(content.equals(await readFile(task.source.file))).toBe(true);
    expect(metadata).toMatchObject({ contentCoding: 'gzip', mediaType: 'text/plain; charset=utf-8' });
    expect(written.bytesOut).toBe((await rig.object(task.path, written.head)).length);
    expect(written.bytesOut).toBeLessThan(task.source.size / 20);
  });
});

describe('what is written', () => {
  it('has the digest of its head for a name, and says how long that is', async () => {
    const task = await rig.task('/a/b.txt', TEXT, { headers: { 'content-language': 'en' } });
    const written = await rig.start().write(task);
    const object = await rig.object(task.path, written.head);
    const head = await readUnverifiedHead(
      new ByteReader(createReadStream(objectFile(rig.out, task.path, written.head))),
    );
    expect([written.headLength, written.bytesOut]).toEqual([head.length, object.length]);
    expect(Buffer.from(await sha256(object.subarray(0, head.length))).toString('hex')).toBe(written.head);
    expect((await rig.read(task, written)).metadata).toMatchObject({ headers: { 'content-language': 'en' } });
  });

  it('is compressed only where it is asked for, helps, and is not public', async () => {
    const writers = rig.start();
    const coded = async (path: string, content: string | Uint8Array, wish: Partial<WriteTask> = {}) => {
      const task = await rig.task(path, content, wish);
      return (await rig.read(task, await writers.write(task))).metadata.contentCoding;
    };
    expect(await coded('/a.txt', TEXT)).toBe('gzip');
    expect(await coded('/b.txt', TEXT, { compress: false })).toBeUndefined();
    expect(await coded('/c.txt', randomBytes(5000))).toBeUndefined();
    expect(await coded('/d.bin', TEXT)).toBeUndefined();
    expect(await coded('/e.txt', TEXT, { set: undefined })).toBeUndefined();
  });

  it.each([300, SMALL_FILE + 1])('is padded as Padmé says: %i bytes', async (size) => {
    const task = await rig.task('/a.bin', randomBytes(size), { padding: true });
    const written = await rig.start().write(task);
    const head = await readUnverifiedHead(
      new ByteReader(createReadStream(objectFile(rig.out, task.path, written.head))),
    );
    const length = messageLength(payloadShape(head.header));
    expect(length).toBe(padmeLength(length));
    expect(length).toBeGreaterThan(size);
  });

  it('never repeats a salt: one document 300 times, then a large one twice', async () => {
    const writers = rig.start();
    const small = await rig.task('/a.txt', 'the same');
    const large = await rig.task('/b.bin', randomBytes(SMALL_FILE + 1));
    const tasks = [...Array.from({ length: 300 }, () => small), large, large];
    const written = await Promise.all(tasks.map((task) => writers.write(task)));
    const salts = await Promise.all(
      written.map(async ({ head, headLength }, index) =>
        (await rig.object(tasks[index]?.path ?? '', head)).toString('hex', headLength, headLength + 24),
      ),
    );
    expect(new Set(salts).size).toBe(tasks.length);
  });
});

describe('a document’s own place', () => {
  it('gets a fallback page, in place of what was there', async () => {
    const writers = rig.start();
    for (const page of ['<title>one</title>', '<title>two</title>']) {
      expect(await writers.place({ kind: 'page', path: '/x/a.html', page })).toBe(page.length);
      expect(await readFile(join(rig.out, 'x/a.html'), 'utf8')).toBe(page);
    }
    expect(await rig.files()).toEqual(['a.html']);
  });

  it('gets the copy of a public document, with its time, as often as one likes', async () => {
    const writers = rig.start();
    for (const text of ['first', 'second']) {
      const task = await rig.task('/x/a.txt', text, { set: undefined });
      const { content = '' } = await writers.write(task);
      for (const _ of [1, 2]) expect(await writers.place({ kind: 'copy', path: task.path, content })).toBe(text.length);
      expect(await readFile(join(rig.out, task.path), 'utf8')).toBe(text);
      expect(Math.floor((await stat(join(rig.out, task.path))).mtimeMs / 1000)).toBe(task.source.lastModified);
    }
    expect((await rig.files()).filter(isLeftoverName)).toEqual([]);
  });
});

describe('what goes wrong is said in the publisher’s own errors, and leaves nothing behind:', () => {
  const sizes = [100, SMALL_FILE + 1];

  it.each(sizes)('a source of %i bytes that is another file by now', async (size) => {
    const task = await rig.task('/a.bin', randomBytes(size));
    await writeFile(task.source.file, randomBytes(size));
    await expect(rig.start().write(task)).rejects.toMatchObject({
      name: 'PublishError',
      code: 'source-refused',
      message: expect.stringContaining('/a.bin'),
    });
    expect(await rig.files()).toEqual([]);
  });

  it.each(sizes)('a source of %i bytes that is gone', async (size) => {
    const task = await rig.task('/a.bin', randomBytes(size));
    await rm(task.source.file);
    await expect(rig.start().write(task)).rejects.toMatchObject({ name: 'PublishError', code: 'source-refused' });
    expect(await rig.files()).toEqual([]);
  });

  it('an output where a file lies in the way of a directory', async () => {
    await writeFile(join(rig.out, 'a'), 'in the way');
    const task = await rig.task('/a/b.bin', randomBytes(100));
    const large = await rig.task('/a/c.bin', randomBytes(SMALL_FILE + 1));
    const writers = rig.start();
    for (const each of [task, large]) {
      await expect(writers.write(each)).rejects.toMatchObject({ name: 'PublishError', code: 'output-failed' });
    }
    expect(await rig.files()).toEqual(['a']);
  });

  it('one document does not keep the others from being written', async () => {
    const writers = rig.start();
    const tasks = await Promise.all(Array.from({ length: 10 }, (_, index) => rig.task(`/${index}.txt`, `${index}`)));
    await rm(tasks[5]?.source.file ?? '');
    const results = await Promise.allSettled(tasks.map((task) => writers.write(task)));
    expect(results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([5]);
  });
});

describe('the end of the writers', () => {
  it('by a signal fails what is under way and what comes, and leaves nothing half done under a final name', async () => {
    const abort = new AbortController();
    const writers = rig.start({ signal: abort.signal });
    const tasks = await Promise.all([
      rig.task('/film.bin', Buffer.alloc(40 * MiB)),
      ...Array.from({ length: 300 }, (_, index) => rig.task(`/${index}.txt`, `${index}`)),
    ]);
    const calls = tasks.map((task) => writers.write(task));
    const first = await Promise.any(calls);
    abort.abort();
    const results = await Promise.allSettled(calls);
    expect(results[0]).toMatchObject({ status: 'rejected', reason: { name: 'PublishError', code: 'stopped' } });
    for (const result of results) if (result.status === 'rejected') expect(result.reason.code).toBe('stopped');
    await expect(writers.write(tasks[1] as WriteTask)).rejects.toMatchObject({ code: 'stopped' });
    await writers.close();
    expect(first.reused).toBe(false);
    expect((await rig.files()).filter(isLeftoverName)).toEqual([]);
  });

  it('by closing refuses what is called afterwards', async () => {
    const writers = rig.start();
    const task = await rig.task('/a.bin', randomBytes(SMALL_FILE + 1));
    const written = await writers.write(task);
    await writers.close();
    expect((await rig.read(task, written)).content.length).toBe(SMALL_FILE + 1);
    for (const each of [task, await rig.task('/b.txt', 'b')])
      await expect(writers.write(each)).rejects.toMatchObject({ code: 'stopped' });
  });

  it.each(['exit', 'throw'])(
    'of a thread by itself is an error for everything it had, and for what comes: %s',
    async (out) => {
      const { publisher } = rig;
      const data = { out, site: 'news.example', publisher, sets: new Map(), stop: new Int32Array(1) };
      const pool = new ThreadPool(data, 2, () => startThread(new URL('../support/dying-thread.mjs', import.meta.url)));
      const task = await rig.task('/a.txt', 'x');
      const calls = Array.from({ length: 200 }, () => pool.perform({ kind: 'write', task }, 1));
      for (const result of await Promise.allSettled(calls)) {
        expect(result).toMatchObject({ status: 'rejected', reason: { name: 'PublishError', code: 'output-failed' } });
      }
      await expect(pool.perform({ kind: 'write', task }, 1)).rejects.toMatchObject({ code: 'output-failed' });
      await pool.end();
    },
  );
});

it('nothing of a document is left in the memory that the next one is made in', async () => {
  const writers = rig.start();
  await writers.write(await rig.task('/long.bin', Buffer.alloc(100_000, 'x')));
  const short = await rig.task('/short.bin', 'short', { padding: true });
  const written = await writers.write(short);
  expect((await rig.object(short.path, written.head)).length).toBe(written.bytesOut);
  expect(written.bytesOut).toBeLessThan(1000);
  expect((await rig.read(short, written)).content.toString()).toBe('short');
});
