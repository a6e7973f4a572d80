/** Contract of every target: run on each implementation. */
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { PART_LENGTH } from '../../node-support/storage/s3-digest.ts';
import type { StoredFile, Target } from '../../node-support/storage/target.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Lengths of files that a bucket takes in parts. */
const [TWO_PARTS, THREE_PARTS] = [PART_LENGTH + 1, 2 * PART_LENGTH + 1];

export const OPTIONS = { contentType: 'text/plain', cacheControl: 'no-cache' } as const;

/** Names that a site may have, and that some protocol on the way could take for something else. */
const AWKWARD = [
  '/a b.txt',
  '/a+b.txt',
  '/100%.txt',
  '/a%20b.txt',
  '/question?mark',
  '/hash#mark',
  '/caf\u00e9/\u{1f600}.html',
  '/cafe\u0301/e.html',
  '/back~tick`"quote\'',
  '/&amp;<x>.txt',
  '/\ufffe.txt',
  '/.hidden',
  '/con/...',
  '/-dash',
  '/[a]{b}*',
];

const REFUSED = ['', 'relative', '/', '/../outside', '/a/../../outside', '/./a', '/a//b', '/a/', '/a\0b', '/\ud800'];

export async function all(target: Target, prefix = '/'): Promise<StoredFile[]> {
  const files: StoredFile[] = [];
  for await (const file of target.list(prefix)) files.push(file);
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

export async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(StorageError);
  return (error as StorageError).code;
}

/** @param open - opens an empty target */
export function describeTarget(what: string, open: () => Promise<Target>): void {
  describe(what, () => {
    const directory = temporaryFolder();
    let target: Target;
    const put = (path: string, content: string | Uint8Array) =>
      target.upload(path, typeof content === 'string' ? utf8(content) : content, OPTIONS);
    const text = async (path: string) => {
      const bytes = await target.get(path, 1000);
      return bytes && Buffer.from(bytes).toString();
    };

    beforeEach(async () => {
      target = await open();
      return () => target.close();
    });

    it('has nothing at first', async () => {
      expect(await all(target)).toEqual([]);
      expect(await target.head('/a')).toBeUndefined();
      expect(await target.get('/a/b', 10)).toBeUndefined();
    });

    it('gives back what was put, and replaces it', async () => {
      await put('/a/b.txt', 'one');
      expect(await text('/a/b.txt')).toBe('one');
      const first = await target.head('/a/b.txt');
      await put('/a/b.txt', 'two');
      expect(await text('/a/b.txt')).toBe('two');
      const second = await target.head('/a/b.txt');
      expect(second).toMatchObject({ path: '/a/b.txt', length: 3 });
      expect(second?.tag).not.toBe(first?.tag);
      expect(Math.abs((second?.modified ?? 0) - Date.now() / 1000)).toBeLessThan(60);
    });

    it('says whether it holds the same', async () => {
      const [small, large] = [join(directory, 'small'), join(directory, 'parts')];
      await writeFile(small, 'one');
      await writeFile(large, Buffer.alloc(TWO_PARTS, 'x'));
      for (const file of [small, large]) {
        await target.upload('/a', { file }, OPTIONS);
        const [listed] = await all(target);
        expect(listed && (await target.matches(listed, { file }))).toBe(true);
        await writeFile(file, file === small ? 'two' : Buffer.alloc(TWO_PARTS, 'y'));
        expect(listed && (await target.matches(listed, { file }))).toBe(false);
        await writeFile(file, 'of another length');
        expect(listed && (await target.matches(listed, { file }))).toBe(false);
      }
      await put('/a', 'bytes');
      const [listed] = await all(target);
      expect(listed && (await target.matches(listed, utf8('bytes')))).toBe(true);
      expect(listed && (await target.matches(listed, utf8('other')))).toBe(false);
    });

    it('takes empty files, and files of three parts', async () => {
      const file = join(directory, 'large');
      await writeFile(file, 'start');
      await truncate(file, THREE_PARTS);
      await put('/empty', '');
      await target.upload('/large', { file }, OPTIONS);
      expect(await target.get('/empty', 0)).toHaveLength(0);
      const large = (await target.get('/large', THREE_PARTS)) ?? new Uint8Array(0);
      expect(large).toHaveLength(THREE_PARTS);
      expect(Buffer.from(large.subarray(0, 6)).toString()).toBe('start\0');
      expect((await target.head('/large'))?.length).toBe(THREE_PARTS);
    });

    it('gives no more than was asked for', async () => {
      await put('/a', '12345');
      expect(await target.get('/a', 5)).toHaveLength(5);
      expect(await codeOf(target.get('/a', 4))).toBe('target-failed');
    });

    it('keeps names as they are', async () => {
      for (const path of AWKWARD) await put(path, path);
      expect((await all(target)).map(({ path }) => path)).toEqual([...AWKWARD].sort());
      for (const path of AWKWARD) expect(await text(path)).toBe(path);
      await target.remove(AWKWARD);
      expect(await all(target)).toEqual([]);
    });

    it('lists what begins with a prefix, also in the middle of a name', async () => {
      for (const path of ['/a/b', '/a/bc', '/a/c', '/ab', '/b/a/b']) await put(path, '');
      const paths = async (prefix: string) => (await all(target, prefix)).map(({ path }) => path);
      expect(await paths('/a/b')).toEqual(['/a/b', '/a/bc']);
      expect(await paths('/a/')).toEqual(['/a/b', '/a/bc', '/a/c']);
      expect(await paths('/none/')).toEqual([]);
    });

    it('removes, and passes over what is not there', async () => {
      await put('/a/b/c', '');
      await put('/a/d', '');
      await target.remove(['/a/b/c', '/none', '/a/none/x']);
      expect((await all(target)).map(({ path }) => path)).toEqual(['/a/d']);
    });

    it('attack 39: puts, reads and removes nothing outside', async () => {
      for (const path of REFUSED) {
        expect(await codeOf(put(path, 'x'))).toBe('path-refused');
        expect(await codeOf(target.get(path, 10))).toBe('path-refused');
        expect(await codeOf(target.head(path))).toBe('path-refused');
        expect(await codeOf(target.remove([path]))).toBe('path-refused');
      }
      expect(await all(target)).toEqual([]);
    });

    it('replaces only what it was asked to', async () => {
      const replace = (replacing: string | null, content: string) =>
        target.upload('/a', utf8(content), { ...OPTIONS, replacing });
      expect(await codeOf(replace('"0123"', 'never'))).toMatch(/target-(?:changed|failed)/);
      await replace(null, 'one');
      expect(await codeOf(replace(null, 'never'))).toBe('target-changed');
      const { tag = '' } = (await target.head('/a')) ?? {};
      await replace(tag, 'two');
      expect(await codeOf(replace(tag, 'never'))).toBe('target-changed');
      expect(await text('/a')).toBe('two');
      const many = join(directory, 'many-parts');
      await writeFile(many, Buffer.alloc(TWO_PARTS, 1));
      const replaceWithMany = (replacing: string | null) =>
        target.upload('/a', { file: many }, { ...OPTIONS, replacing });
      expect(await codeOf(replaceWithMany(null))).toBe('target-changed');
      await replaceWithMany((await target.head('/a'))?.tag ?? null);
      expect((await target.head('/a'))?.length).toBe(TWO_PARTS);
    });

    it('fails where the source is not there, and leaves nothing behind', async () => {
      await put('/a', 'old');
      expect(await codeOf(target.upload('/a', { file: join(directory, 'none') }, OPTIONS))).toMatch(/^target-/);
      await target.removeLeftovers(Date.now() / 1000 + 60);
      expect(await text('/a')).toBe('old');
      expect(await all(target)).toHaveLength(1);
    });
  });
}
