/** Documents written on all cores: every one is opened again by the reader. */
import { spawn } from 'node:child_process';
import { appendFileSync, createReadStream } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomBytes, sha256 } from '#primitives';
import { padmeLength } from '../../core/crypto/padding.ts';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { messageLength } from '../../core/object/geometry.ts';
import { payloadShape } from '../../core/object/header.ts';
import { readUnverifiedHead } from '../../core/object/read-head.ts';
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

const SIZES = [
  ...[0, 1, 511, 512, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537],
  ...[4 * MiB - 1, 4 * MiB, 4 * MiB + 1, 8 * MiB, 17 * MiB + 3],
];

describe('a document of any size comes back byte for byte', () => {
  const wishes: Record<string, Partial<WriteTask>> = {
    encrypted: {},
    padded: { padding: true },
    public: { set: undefined },
    'in a page': { carrier: 'html', fallbackPage: '<title>Read</title>' },
  };
  it.each(Object.entries(wishes))('%s', async (_, wish) => {
    const writers = rig.start();
    const tasks = await Promise.all(SIZES.map((size) => rig.task(`/${size}/a.bin`, randomBytes(size), wish)));
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
    const task = await rig.task('/large.txt', TEXT.repeat(3000));
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

  it.each([300, 5 * MiB])('is padded as Padmé says: %i bytes', async (size) => {
    const task = await rig.task('/a.bin', randomBytes(size), { padding: true });
    const written = await rig.start().write(task);
    const head = await readUnverifiedHead(
      new ByteReader(createReadStream(objectFile(rig.out, task.path, written.head))),
    );
    const length = messageLength(payloadShape(head.header));
    expect(length).toBe(padmeLength(length));
    expect(length).toBeGreaterThan(size);
  });

  it('never repeats a salt: one document a thousand times, then a large one twice', async () => {
    const writers = rig.start();
    const small = await rig.task('/a.txt', 'the same');
    const large = await rig.task('/b.bin', randomBytes(5 * MiB));
    const tasks = [...Array.from({ length: 1000 }, () => small), large, large];
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
  const sizes = [100, 5 * MiB];

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

  it('a source that grows while it is written', async () => {
    const task = await rig.task('/a.bin', new Uint8Array(64 * MiB));
    const writing = rig.start().write(task);
    appendFileSync(task.source.file, 'x');
    await expect(writing).rejects.toMatchObject({ code: 'source-refused' });
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
    const large = await rig.task('/a/c.bin', randomBytes(5 * MiB));
    const writers = rig.start();
    for (const each of [task, large]) {
      await expect(writers.write(each)).rejects.toMatchObject({ name: 'PublishError', code: 'output-failed' });
    }
    expect(await rig.files()).toEqual(['a']);
  });

  it('one document does not keep the others from being written', async () => {
    const writers = rig.start();
    const tasks = await Promise.all(Array.from({ length: 50 }, (_, index) => rig.task(`/${index}.txt`, `${index}`)));
    await rm(tasks[20]?.source.file ?? '');
    const results = await Promise.allSettled(tasks.map((task) => writers.write(task)));
    expect(results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([20]);
  });
});

describe('the end of the writers', () => {
  it('by a signal fails what is under way and what comes, and leaves nothing half done under a final name', async () => {
    const abort = new AbortController();
    const writers = rig.start({ signal: abort.signal });
    const tasks = await Promise.all([
      rig.task('/film.bin', randomBytes(40 * MiB)),
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
    const task = await rig.task('/a.bin', randomBytes(9 * MiB));
    const written = await writers.write(task);
    await writers.close();
    expect((await rig.read(task, written)).content.length).toBe(9 * MiB);
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

it('an output that cannot be written for want of room is an error, and what was begun is removed', async () => {
  await rig.task('/small.bin', randomBytes(3 * MiB));
  await rig.task('/large.bin', randomBytes(9 * MiB));
  const { code, stdout } = await writeWithFullDisk(rig);
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    ['small', 'large'].map((name) => ({
      code: 'output-failed',
      message: expect.stringMatching(new RegExp(`^cannot write .*/${name}\\.bin\\.protected: E(?:FBIG|NOSPC)`)),
    })),
  ]);
  expect(await rig.files()).toEqual([]);
});

/** Writes all sources where no file may grow beyond 2 MiB: the system's answer to a write is the same as on a full disk, but for its name. */
async function writeWithFullDisk({ directory, out }: WritersRig): Promise<{ code: number | null; stdout: string }> {
  const program = fileURLToPath(new URL('../support/write-documents.ts', import.meta.url));
  const command = 'trap "" XFSZ; ulimit -f 4096; exec "$0" "$1" "$2" "$3"';
  const child = spawn('sh', ['-c', command, process.execPath, program, join(directory, 'site'), out], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let stdout = '';
  child.stdout.on('data', (data: Buffer) => {
    stdout += data;
  });
  return { code: await new Promise((resolve) => child.once('close', resolve)), stdout };
}
