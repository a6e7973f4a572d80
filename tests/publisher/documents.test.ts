/** Documents as all cores write them: each is read again as its source is, and kept by the next run only where it is what would be written. */
import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { padmeLength } from '../../core/crypto/padding.ts';
import { messageLength } from '../../core/object/geometry.ts';
import { payloadShape } from '../../core/object/header.ts';
import { publisherIdentity } from '../../core/object/writer.ts';
import { contentTargetOf, headTargetOf, targetFile } from '../../core/publication/names.ts';
import { SMALL_FILE } from '../../publisher/protect/content.ts';
import { isLeftoverName } from '../../publisher/protect/writers/files.ts';
import { startThread, ThreadPool } from '../../publisher/protect/writers/thread-pool.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import type { ConfigurationInput } from '../../publisher/workspace/configuration/schema.ts';
import { contentOf, createWorkspace, type TestWorkspace } from '../support/workspace.ts';

let workspace: TestWorkspace;
afterEach(() => workspace?.remove());

const SIZES = [0, 1, 511, 512, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, SMALL_FILE, SMALL_FILE + 1];
/** A run of blocks for each of two threads; and blocks of 16 chunks. */
const LARGE = [2 * SMALL_FILE, 16 * 1024 * 1024 + 3];
const TEXT = 'All the news that is fit to print, and some that is not. '.repeat(40);

const sourceOf = (path: string) => join(workspace.source, path);
const headsOf = async (paths: readonly string[]) => {
  const { entry } = await workspace.published();
  return Promise.all(paths.map(async (path) => (await entry(path)).head));
};
async function expectSources(paths: readonly string[]): Promise<void> {
  const { open } = await workspace.published();
  for (const path of paths)
    expect((await contentOf(await open(path))).equals(await readFile(sourceOf(path))), path).toBe(true);
}

/** Writes files again, as a generator does with all. */
async function touch(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await writeFile(sourceOf(path), await readFile(sourceOf(path)));
    await utimes(sourceOf(path), 1_700_000_000, 1_700_000_000);
  }
}

describe('a document of any size comes back byte for byte, with its time, and is kept where its file was only touched', () => {
  it.each<[string, Partial<ConfigurationInput>, number[]]>([
    ['encrypted', {}, [...SIZES, ...LARGE]],
    ['padded', { padding: 'padme' }, [...SIZES, 2 * SMALL_FILE]],
    ['public', { public: ['**'] }, SIZES],
  ])('%s', async (kind, settings, sizes) => {
    const paths = sizes.map((size) => `/${size}.bin`);
    workspace = await createWorkspace(
      Object.fromEntries(sizes.map((size) => [`${size}.bin`, randomBytes(size)])),
      settings,
    );
    await workspace.protect();
    await expectSources(paths);
    const { open } = await workspace.published();
    for (const path of paths) {
      const { metadata, reader } = await open(path);
      expect(metadata.lastModified).toBe(Math.floor((await stat(sourceOf(path))).mtimeMs / 1000));
      const length = messageLength(payloadShape(reader.head.header));
      if (kind === 'padded') expect([length > metadata.contentLength, length]).toEqual([true, padmeLength(length)]);
    }
    expect((await readdir(workspace.out)).filter(isLeftoverName)).toEqual([]);
    await touch(paths);
    const { changes, publication } = await workspace.protect();
    expect([changes.unchanged, publication.isNew]).toEqual([paths.length, false]);
  });
});

it('no salt is used twice, for 300 documents that are the same and two large ones', async () => {
  const files = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`${index}.txt`, 'the same']));
  const large = randomBytes(SMALL_FILE + 1);
  workspace = await createWorkspace({ ...files, 'a.bin': large, 'b.bin': large });
  await workspace.protect();
  const { paths, entry } = await workspace.published();
  const salts = paths.map(async (path) => {
    const { head, headLength } = await entry(path);
    const object = await readFile(join(workspace.out, `${head}.${basename(path)}.protected`));
    return object.toString('hex', headLength, headLength + 24);
  });
  expect(new Set(await Promise.all(salts)).size).toBe(302);
});

describe.each<[string, Partial<ConfigurationInput>]>([
  ['encrypted', {}],
  ['public', { public: ['**'] }],
  ['in a page', { carrier: 'html' }],
])('what was written before: %s', (kind, settings) => {
  const TEXTS = [TEXT, TEXT.repeat(40), TEXT.repeat(Math.ceil(SMALL_FILE / TEXT.length) + 1)];
  const texts = kind === 'in a page' ? TEXTS.slice(0, 2) : TEXTS;
  /** Protects a document of each length for each name. */
  const protectOnce = async (names: readonly string[]) => {
    const files = names.flatMap((name) => texts.map((text, index) => [`/${name}-${index}.html`, text] as const));
    workspace = await createWorkspace(Object.fromEntries(files), settings);
    await workspace.protect();
    return files.map(([path]) => path);
  };

  it('is kept where the text is the same, and made anew where one byte of it changed, whose time did not', async () => {
    const paths = await protectOnce(['changed']);
    const heads = await headsOf(paths);
    await touch(paths);
    expect((await workspace.protect()).changes.unchanged).toBe(paths.length);
    expect(await headsOf(paths)).toEqual(heads);
    for (const path of paths) {
      const bytes = await readFile(sourceOf(path));
      await writeFile(sourceOf(path), bytes.fill('X', bytes.length - 1));
      await utimes(sourceOf(path), 1_700_000_000, 1_700_000_000);
    }
    expect((await workspace.protect()).changes.changed).toBe(paths.length);
    for (const [index, head] of (await headsOf(paths)).entries()) expect(head).not.toBe(heads[index]);
    await expectSources(paths);
  });

  it('is made anew where it is gone, cut or altered', async () => {
    const damages: Readonly<Record<string, (file: string) => Promise<void>>> = {
      gone: (file) => rm(file),
      cut: async (file) => writeFile(file, (await readFile(file)).subarray(0, -1)),
      altered: async (file) => {
        const bytes = await readFile(file);
        bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
        await rm(file); // the copy of a public document may be the same file
        await writeFile(file, bytes);
      },
    };
    const paths = await protectOnce(Object.keys(damages));
    for (const which of kind === 'public' ? ['head', 'content'] : ['head']) {
      const { entry } = await workspace.published();
      for (const path of paths) {
        const { head, content = '', inPage } = await entry(path);
        const target =
          which === 'head' ? targetFile(headTargetOf(path), head) : targetFile(contentTargetOf(path), content);
        await damages[path.slice(1).split('-')[0] ?? '']?.(join(workspace.out, inPage ? path : target));
      }
      await touch(paths);
      await workspace.protect();
      await expectSources(paths);
      const { findings } = await verifyTree(workspace.out);
      expect(findings.filter(({ kind }) => kind !== 'extra')).toEqual([]); // the damaged object is left until it is pruned
    }
  });
});

it('an object is made anew where its padding, a header, its set or its secrecy changed, and no other', async () => {
  const language = (name: string, text: string) => ({ path: `${name}.txt`, set: { 'Content-Language': text } });
  const names = ['header', 'value', 'set', 'secrecy', 'same'];
  const paths = names.map((name) => `/${name}.txt`);
  workspace = await createWorkspace(Object.fromEntries(names.map((name) => [`${name}.txt`, TEXT])), {
    headers: [language('value', 'de')],
  });
  await workspace.protect();
  const before = await headsOf(paths);
  await workspace.configure({
    headers: [language('header', 'de'), language('value', 'en')], // of the same length
    sets: [{ path: 'set.txt', name: 'gold' }],
    public: ['secrecy.txt'],
  });
  await workspace.protect();
  const after = await headsOf(paths);
  expect(after.map((head, index) => head === before[index])).toEqual([false, false, false, false, true]);
  await workspace.configure({ padding: 'padme' });
  await workspace.protect();
  const isKept = (await headsOf(paths)).map((head, index) => head === after[index]);
  expect(isKept).toEqual([false, false, false, true, false]); // what is public has no padding
  await expectSources(paths);
  for (const [path, text] of [
    ['/header.txt', 'de'],
    ['/value.txt', 'en'],
  ] as const)
    expect((await workspace.open(path)).metadata.headers).toEqual({ 'content-language': text });
  expect((await workspace.open('/same.txt')).metadata.headers).toBeUndefined();
});

it('an object is carried into another fallback page without being made anew', async () => {
  workspace = await createWorkspace({ 'a.html': '<title>A</title>' }, { carrier: 'html' });
  await workspace.protect();
  const before = await headsOf(['/a.html']);
  await workspace.configure({ fallback: { language: 'pl' } });
  await workspace.protect();
  expect(await headsOf(['/a.html'])).toEqual(before);
  expect(await readFile(join(workspace.out, 'a.html'), 'utf8')).toContain('<html lang="pl">');
  await expectSources(['/a.html']);
});

it.each(['exit', 'throw'])(
  'a thread that ends by itself is an error for all it had, and for what comes: %s',
  async (out) => {
    const publisher = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
    const data = { out, site: 'news.example', publisher, sets: new Map(), stop: new Int32Array(1) };
    const pool = new ThreadPool(data, 2, () => startThread(new URL('../support/dying-thread.mjs', import.meta.url)));
    const call = () =>
      pool.perform({ kind: 'place', placement: { kind: 'page', path: '/a.html', page: 'x' } } as never, 1);
    const failure = { name: 'PublishError', code: 'output-failed' };
    for (const result of await Promise.allSettled(Array.from({ length: 200 }, call)))
      expect(result).toMatchObject({ status: 'rejected', reason: failure });
    await expect(call()).rejects.toMatchObject(failure);
    await pool.end();
  },
);
