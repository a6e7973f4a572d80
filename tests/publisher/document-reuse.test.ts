/** Whether the object that was written before is still what would be written: decided by opening it, since no digests of plaintext are kept. */
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { publisherIdentity } from '../../core/object/writer.ts';
import { SMALL_FILE } from '../../publisher/protect/content.ts';
import { contentFile, objectFile } from '../../publisher/protect/writers/files.ts';
import type { WriteTask } from '../../publisher/protect/writers/jobs.ts';
import { identityOf } from '../../publisher/site/walk.ts';
import { WritersRig } from '../support/document-writers.ts';

const TEXT = 'All the news that is fit to print, and some that is not. '.repeat(40);
const TWO_BLOCKS = TEXT.repeat(40);
/** Too long to be held in memory. */
const STREAMED = TEXT.repeat(Math.ceil(SMALL_FILE / TEXT.length) + 1);

let rig: WritersRig;
beforeEach(async () => {
  rig = await WritersRig.create();
});
afterEach(() => rig[Symbol.asyncDispose]());

describe('a previous object', () => {
  const kinds: Record<string, Partial<WriteTask>> = {
    encrypted: {},
    uncompressed: { compress: false, padding: true },
    public: { set: undefined },
    'in a page': { carrier: 'html', fallbackPage: '<title>Read</title>' },
  };
  const cases = Object.entries(kinds).flatMap(([kind, wish]) =>
    [TEXT, TWO_BLOCKS].map((text) => ({ kind, wish, text, length: text.length })),
  );
  const streamed = [
    { kind: 'encrypted', wish: {}, text: STREAMED, length: STREAMED.length },
    { kind: 'public', wish: { set: undefined }, text: STREAMED, length: STREAMED.length },
  ];

  async function writeTwice(task: WriteTask, next: WriteTask = task, before = async (_head: string) => {}) {
    const writers = rig.start();
    const first = await writers.write(task);
    if (first.staged) await writers.place({ kind: 'carrier', path: task.path, head: first.head });
    await before(first.head);
    return { first, second: await rig.start().write({ ...next, previous: first.head }) };
  }

  it.each([...cases, ...streamed])('that is still right is kept: $kind, $length bytes', async ({ wish, text }) => {
    const { first, second } = await writeTwice(await rig.task('/a.txt', text, wish));
    expect(second).toEqual({ ...first, reused: true, staged: false });
  });

  it('that all threads made is kept', async () => {
    const { first, second } = await writeTwice(await rig.task('/a.bin', randomBytes(SMALL_FILE + 1)));
    expect(second).toEqual({ ...first, reused: true });
  });

  it.each([...cases, ...streamed])(
    'is not kept when a byte of the source changed: $kind, $length bytes',
    async ({ wish, text }) => {
      const task = await rig.task('/a.txt', text, wish);
      const time = task.source.lastModified ?? 0;
      const { first, second } = await writeTwice(task, undefined, async () => {
        await writeFile(task.source.file, `${text.slice(0, -1)}X`);
        await utimes(task.source.file, time, time);
        Object.assign(task.source, { identity: identityOf(await stat(task.source.file, { bigint: true })) });
      });
      expect(second.reused).toBe(false);
      expect(second.head).not.toBe(first.head);
    },
  );

  it('is not kept when anything else about it would be different', async () => {
    const task = await rig.task('/a.txt', TEXT);
    const source = { ...task.source, lastModified: 1 };
    const changes: Partial<WriteTask>[] = [
      { padding: true },
      { compress: false },
      { mediaType: 'text/css' },
      { headers: { 'content-language': 'de' } },
      { set: undefined },
      { source },
    ];
    for (const change of changes) {
      expect((await writeTwice(task, { ...task, ...change })).second.reused, JSON.stringify(change)).toBe(false);
    }
    const [german, english] = ['de', 'en'].map((language) => ({ ...task, headers: { 'content-language': language } }));
    if (!german || !english) throw new Error('two tasks'); // as long as each other, and encrypted: only the old object's inside tells
    expect((await writeTwice(german, english)).second.reused).toBe(false);
    const other = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
    const { first } = await writeTwice(task);
    const written = await rig.start({ publisher: other }).write({ ...task, previous: first.head });
    expect(written.reused).toBe(false);
  });

  it.each(cases)('is not kept when it is gone, cut or altered: $kind, $length bytes', async ({ wish, text }) => {
    const task = await rig.task('/a.txt', text, wish);
    const fileOf = (head: string) =>
      task.carrier === 'html' ? join(rig.out, task.path) : objectFile(rig.out, task.path, head);
    const damages: ((file: string) => Promise<void>)[] = [
      (file) => rm(file),
      async (file) => writeFile(file, (await readFile(file)).subarray(0, -1)),
      async (file) => {
        const bytes = await readFile(file);
        bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
        await writeFile(file, bytes);
      },
    ];
    for (const damage of task.carrier === 'html' ? damages.slice(0, 1) : damages) {
      const { second } = await writeTwice(task, task, (head) => damage(fileOf(head)));
      expect(second.reused).toBe(false);
      if (second.staged) await rig.start().place({ kind: 'carrier', path: task.path, head: second.head });
      expect((await rig.read(task, second)).content.toString()).toBe(text);
    }
  });

  it('is not kept when the content of a public document is gone', async () => {
    const task = await rig.task('/a.txt', TEXT, { set: undefined });
    const first = await rig.start().write(task);
    await rm(contentFile(rig.out, task.path, first.content ?? ''));
    const second = await rig.start().write({ ...task, previous: first.head });
    expect(second).toEqual(first); // nothing in it is random
    expect((await rig.read(task, second)).content.toString()).toBe(TEXT);
  });

  it('is carried into another fallback page without being made anew', async () => {
    const task = await rig.task('/a.txt', TEXT, { carrier: 'html', fallbackPage: 'one' });
    const { first, second } = await writeTwice(task, { ...task, fallbackPage: 'two' });
    expect(second).toMatchObject({ head: first.head, reused: true, staged: true });
    const third = await rig.start().write({ ...task, fallbackPage: 'two', previous: first.head });
    expect(third).toEqual(second);
    await rig.start().place({ kind: 'carrier', path: task.path, head: third.head });
    expect(await readFile(join(rig.out, task.path), 'utf8')).toMatch(/-->\ntwo$/);
    expect((await rig.read(task, third)).content.toString()).toBe(TEXT);
  });
});
