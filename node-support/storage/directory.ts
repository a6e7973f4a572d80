/** A directory as a target. Files are written beside and renamed; links are never followed, so nothing outside is read or written. */
import { createHash, randomBytes } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { copyFile, lstat, open, readdir, realpath, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeDirectory } from '../make-directory.ts';
import { systemCode, systemReason } from '../system-error.ts';
import { StorageError, type StorageErrorCode } from './errors.ts';
import {
  changed,
  checkTargetPath,
  type PutOptions,
  type Source,
  type StoredFile,
  type Target,
  tooLong,
} from './target.ts';

/** What is being written: short, because names may be as long as the system allows. No document begins like this by chance. */
const UNFINISHED = /^\.wispr-new-[0-9a-f]{12}$/;

/** Whether a file is what an interrupted put left. */
export function isUnfinishedName(name: string): boolean {
  return UNFINISHED.test(name);
}

const CODES: Readonly<Record<string, StorageErrorCode>> = {
  EACCES: 'target-denied',
  EPERM: 'target-denied',
  ENAMETOOLONG: 'target-path',
};

const WRITABLE = 'let this user read and write it, or name another directory';

/** What to do about what the system says. */
const HINTS: Readonly<Record<string, string>> = {
  EACCES: WRITABLE,
  EPERM: WRITABLE,
  EROFS: WRITABLE,
  EEXIST: 'name a directory, or remove the file that is in its place',
  ENOTDIR: 'name a directory, or remove the file that is in its place',
  ENOENT: 'name a place where directories can be made',
  ENOSPC: 'make room, and run the same command again: it goes on where this ended',
};

export class DirectoryTarget implements Target {
  readonly name: string;
  readonly #root: string;

  /** @param root - absolute; made when the first file is put */
  constructor(root: string) {
    this.#root = root;
    this.name = root;
  }

  async *list(prefix: string): AsyncGenerator<StoredFile> {
    // The last segment of a prefix may be the beginning of a name.
    const start = prefix.slice(0, prefix.lastIndexOf('/'));
    if (start !== '') checkTargetPath(start);
    if (!(await this.#leadsInside(`${start}/x`))) return;
    for await (const { path, name } of this.#walk(start)) {
      if (UNFINISHED.test(name) || !path.startsWith(prefix)) continue;
      const file = await this.#stat(path);
      if (file) yield file;
    }
  }

  async head(path: string): Promise<StoredFile | undefined> {
    checkTargetPath(path);
    return (await this.#leadsInside(path)) ? this.#stat(path) : undefined;
  }

  async get(path: string, maximum: number): Promise<Uint8Array | undefined> {
    const file = await this.head(path);
    if (file === undefined) return undefined;
    if (file.length > maximum) throw tooLong(this.name, path, maximum);
    return this.#does(`read ${path}`, async () => {
      await using handle = await open(this.#fileOf(path), constants.O_RDONLY | constants.O_NOFOLLOW);
      const bytes = Buffer.alloc(file.length + 1);
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
      return bytes.subarray(0, bytesRead);
    });
  }

  async holds({ path, length }: Pick<StoredFile, 'path' | 'length'>, source: Source): Promise<boolean> {
    return this.#does(`compare ${path}`, async () => {
      const given = source instanceof Uint8Array ? source.length : (await lstat(source.file)).size;
      if (given !== length || (await this.head(path))?.length !== length) return false;
      const own = createReadStream(this.#fileOf(path), { highWaterMark: PIECE });
      const [one, other] = await Promise.all([sha256Of(own), sha256Of(piecesOf(source))]);
      return one === other;
    });
  }

  async put(path: string, source: Source, { replacing }: PutOptions): Promise<void> {
    checkTargetPath(path);
    await this.#does(`write ${path}`, async () => {
      const directory = dirname(this.#fileOf(path));
      await this.#checkAncestors(dirname(path));
      await makeDirectory(directory);
      if (!(await this.#leadsInside(path))) throw leadsOut(this.name, path);
      const beside = join(directory, `.wispr-new-${randomBytes(6).toString('hex')}`);
      try {
        await writeThrough(beside, source);
        if (replacing !== undefined && ((await this.#stat(path))?.tag ?? null) !== replacing)
          throw changed(this.name, path);
        await rename(beside, this.#fileOf(path));
      } finally {
        await rm(beside, { force: true }).catch(() => undefined);
      }
    });
  }

  async remove(paths: Iterable<string>): Promise<void> {
    for (const path of paths) {
      if ((await this.head(path)) === undefined) continue;
      await this.#does(`remove ${path}`, () => rm(this.#fileOf(path), { force: true }));
      await this.#removeEmpty(dirname(path));
    }
  }

  async removeLeftovers(before: number): Promise<void> {
    if (!(await this.#leadsInside('/x'))) return;
    for await (const { path, name } of this.#walk('')) {
      if (!UNFINISHED.test(name)) continue;
      const file = await this.#stat(path);
      if (file && file.modified < before) await rm(this.#fileOf(path), { force: true });
    }
  }

  close(): void {}

  #fileOf(path: string): string {
    return join(this.#root, path);
  }

  /** Everything below a directory that is no directory; links are not followed. */
  async *#walk(start: string): AsyncGenerator<{ path: string; name: string }> {
    const waiting = [start];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const directory = next;
      for (const entry of await this.#does(`read ${directory}/`, () => this.#entries(directory))) {
        const path = `${directory}/${entry.name}`;
        if (entry.isDirectory()) waiting.push(path);
        else if (entry.isFile()) yield { path, name: entry.name };
      }
    }
  }

  async #entries(directory: string) {
    try {
      return await readdir(this.#fileOf(directory), { withFileTypes: true });
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return [];
      throw error;
    }
  }

  async #stat(path: string): Promise<StoredFile | undefined> {
    const found = await this.#does(`read ${path}`, () =>
      lstat(this.#fileOf(path), { bigint: true }).catch(ignoreMissing),
    );
    if (!found?.isFile()) return undefined;
    const tag = `${found.ino}-${found.size}-${found.mtimeNs}`;
    return { path, length: Number(found.size), modified: Number(found.mtimeMs) / 1000, tag, digest: undefined };
  }

  /** Whether the directory of a path is there and no link on the way to it leads elsewhere. */
  async #leadsInside(path: string): Promise<boolean> {
    const real = (name: string) => this.#does(`read ${dirname(path)}`, () => realpath(name).catch(ignoreMissing));
    const root = await real(this.#root);
    if (root === undefined) return false;
    const directory = await real(dirname(this.#fileOf(path)));
    if (directory === undefined) return false;
    if (directory !== join(root, dirname(path)).replace(/(?<=.)\/$/, '')) throw leadsOut(this.name, path);
    return true;
  }

  /** Before directories are made: none of those on the way that are there already leads elsewhere. */
  async #checkAncestors(directory: string): Promise<void> {
    for (let at = directory; at !== '/'; at = dirname(at)) if (await this.#leadsInside(at)) return;
  }

  /** The directories that a removed file has left empty. */
  async #removeEmpty(path: string): Promise<void> {
    for (let at = path; at !== '/'; at = dirname(at)) {
      if (
        !(await rmdir(this.#fileOf(at)).then(
          () => true,
          () => false,
        ))
      )
        return;
    }
  }

  async #does<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StorageError) throw error;
      const [name, message] = [systemCode(error) ?? '', `cannot ${what} in ${this.name}: ${systemReason(error)}`];
      const hint = HINTS[name];
      throw new StorageError(CODES[name] ?? 'target-failed', message, { cause: error, ...(hint && { hint }) });
    }
  }
}

/** Bytes that are compared at a time. */
const PIECE = 256 * 1024;

function piecesOf(source: Source): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if (!(source instanceof Uint8Array)) return createReadStream(source.file, { highWaterMark: PIECE });
  return [source];
}

async function sha256Of(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const digest = createHash('sha256');
  for await (const piece of pieces) digest.update(piece);
  return digest.digest('hex');
}

async function writeThrough(file: string, source: Source): Promise<void> {
  if (source instanceof Uint8Array) return writeFile(file, source, { mode: 0o644, flag: 'wx', flush: true });
  await copyFile(source.file, file, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  await using handle = await open(file, 'r+');
  await handle.chmod(0o644);
  const now = new Date();
  await handle.utimes(now, now);
  await handle.datasync();
}

function leadsOut(name: string, path: string): StorageError {
  return new StorageError('target-path', `a link on the way to ${path} leads out of ${name}`);
}

function ignoreMissing(error: unknown): undefined {
  if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined;
  throw error;
}
