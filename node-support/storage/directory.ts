/** A directory as a target. Files are written beside and renamed; links are never followed, so nothing outside is read or written. */
import { constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, open, readdir, realpath, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isTemporaryName, replaceFile, syncDirectory } from '../files/write-file.ts';
import { makeDirectory } from '../make-directory.ts';
import { systemCode, systemReason } from '../system-error.ts';
import { StorageError, type StorageErrorCode } from './errors.ts';
import {
  changed,
  checkTargetPath,
  FileTooLong,
  type Source,
  type StoredFile,
  type Target,
  type UploadOptions,
} from './target.ts';

/** Mode readable by web servers, whatever the umask: a service has a strict one. */
const MODE = 0o644;

const CODES: Readonly<Record<string, StorageErrorCode>> = {
  EACCES: 'target-failed',
  EPERM: 'target-failed',
  ENAMETOOLONG: 'path-refused',
};

export class DirectoryTarget implements Target {
  readonly name: string;
  readonly #root: string;
  readonly #unsynced = new Set<string>();

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
    for await (const files of this.#walk(start)) {
      const wanted = files.filter(({ path, name }) => !isTemporaryName(name) && path.startsWith(prefix));
      for (let first = 0; first < wanted.length; first += LOOKS_IN_FLIGHT) {
        const looks = wanted.slice(first, first + LOOKS_IN_FLIGHT).map(({ path }) => this.#stat(path));
        for (const file of await Promise.all(looks)) if (file) yield file;
      }
    }
  }

  async head(path: string): Promise<StoredFile | undefined> {
    checkTargetPath(path);
    return (await this.#leadsInside(path)) ? this.#stat(path) : undefined;
  }

  async get(path: string, maximum: number): Promise<Uint8Array | undefined> {
    const file = await this.head(path);
    if (file === undefined) return undefined;
    if (file.length > maximum) throw new FileTooLong(this.name, path, maximum);
    return this.#does(`read ${path}`, async () => {
      await using handle = await this.#open(path);
      const bytes = Buffer.alloc(file.length + 1);
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
      return bytes.subarray(0, bytesRead);
    });
  }

  async matches({ path, length }: Pick<StoredFile, 'path' | 'length'>, source: Source): Promise<boolean> {
    return this.#does(`compare ${path}`, async () => {
      const given = source instanceof Uint8Array ? source.length : (await lstat(source.file)).size;
      if (given !== length || (await this.head(path))?.length !== length) return false;
      await using own = await this.#open(path);
      if (source instanceof Uint8Array) return (await readAt(own, Buffer.allocUnsafe(length), 0)).equals(source);
      await using other = await open(source.file);
      return await haveSameBytes(own, other, length);
    });
  }

  async upload(path: string, source: Source, { replacing }: UploadOptions): Promise<void> {
    checkTargetPath(path);
    await this.#does(`write ${path}`, async () => {
      await this.#checkAncestors(dirname(path));
      await makeDirectory(dirname(this.#fileOf(path)));
      if (!(await this.#leadsInside(path))) throw leadsOut(this.name, path);
      if (replacing !== undefined) await this.#syncNames();
      const write = async (temporary: string) => {
        await writeThrough(temporary, source);
        if (replacing !== undefined && ((await this.#stat(path))?.tag ?? null) !== replacing)
          throw changed(this.name, path);
      };
      await replaceFile(this.#fileOf(path), write, { durable: false });
      for (let at = path; at !== '/'; at = dirname(at)) this.#unsynced.add(dirname(at));
      if (replacing !== undefined) await this.#syncNames();
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
    for await (const files of this.#walk('')) {
      for (const { path, name } of files) {
        const file = isTemporaryName(name) ? await this.#stat(path) : undefined;
        if (file && file.modified < before) await rm(this.#fileOf(path), { force: true });
      }
    }
  }

  /** Finds the file, or the directory on the way to it, that this user alone can read: a web server has another one. */
  async closedAt(path: string): Promise<string | undefined> {
    const file = this.#fileOf(path);
    for (let at = file; ; at = dirname(at)) {
      const { mode } = await this.#does(`read ${path}`, () => stat(at));
      if ((mode & (at === file ? 0o044 : 0o011)) === 0) return at;
      if (at === dirname(at)) return undefined;
    }
  }

  close(): void {}

  /** Brings the names of all files to the disk that were put since the last call: the conditional ones make the others visible. */
  async #syncNames(): Promise<void> {
    const directories = [...this.#unsynced];
    this.#unsynced.clear();
    for (const directory of directories) await syncDirectory(this.#fileOf(directory));
  }

  /** Opens what is a file: links are not followed, and opening a pipe does not block. */
  async #open(path: string): Promise<FileHandle> {
    const handle = await open(this.#fileOf(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
    throw changed(this.name, path);
  }

  #fileOf(path: string): string {
    return join(this.#root, path);
  }

  /** Lists all files below a directory, one directory at a time; links are not followed. */
  async *#walk(start: string): AsyncGenerator<{ path: string; name: string }[]> {
    const waiting = [start];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const directory = next;
      const files: { path: string; name: string }[] = [];
      for (const entry of await this.#does(`read ${directory}/`, () => this.#entries(directory))) {
        const path = `${directory}/${entry.name}`;
        if (entry.isDirectory()) waiting.push(path);
        else if (entry.isFile()) files.push({ path, name: entry.name });
      }
      yield files;
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

  /** Tells whether the directory of a path is there and no link on the way to it leads elsewhere. */
  async #leadsInside(path: string): Promise<boolean> {
    const real = (name: string) => this.#does(`read ${dirname(path)}`, () => realpath(name).catch(ignoreMissing));
    const root = await real(this.#root);
    if (root === undefined) return false;
    const directory = await real(dirname(this.#fileOf(path)));
    if (directory === undefined) return false;
    if (directory !== join(root, dirname(path)).replace(/(?<=.)\/$/, '')) throw leadsOut(this.name, path);
    return true;
  }

  /** Checks before directories are made that none of those on the way that are there already leads elsewhere. */
  async #checkAncestors(directory: string): Promise<void> {
    for (let at = directory; at !== '/'; at = dirname(at)) if (await this.#leadsInside(at)) return;
  }

  async #removeEmpty(path: string): Promise<void> {
    for (let at = path; at !== '/'; at = dirname(at)) {
      const failure = await rmdir(this.#fileOf(at)).catch((error: unknown) => error);
      if (failure !== undefined) return;
    }
  }

  async #does<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StorageError) throw error;
      const [name, message] = [systemCode(error) ?? '', `cannot ${what} in ${this.name}: ${systemReason(error)}`];
      throw new StorageError(CODES[name] ?? 'target-failed', message, { cause: error });
    }
  }
}

/** Files that are looked at at a time: enough to hide how long the system, or a mounted share, takes to answer. */
const LOOKS_IN_FLIGHT = 32;

/** Bytes that are compared at a time. */
const PIECE = 256 * 1024;

/** Takes memory for no more than there is: most files are small, and there are many. */
async function haveSameBytes(one: FileHandle, other: FileHandle, length: number): Promise<boolean> {
  const size = Math.min(PIECE, length);
  const [left, right] = [Buffer.allocUnsafe(size), Buffer.allocUnsafe(size)];
  for (let at = 0; at < length; at += size) {
    const wanted = Math.min(size, length - at);
    const [a, b] = await Promise.all([
      readAt(one, left.subarray(0, wanted), at),
      readAt(other, right.subarray(0, wanted), at),
    ]);
    if (a.length < wanted || !a.equals(b)) return false;
  }
  return true;
}

/** Fills the buffer from a position, up to the end of the file: a single read may return less. */
async function readAt(file: FileHandle, into: Buffer, position: number): Promise<Buffer> {
  let filled = 0;
  while (filled < into.length) {
    const { bytesRead } = await file.read(into, filled, into.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return into.subarray(0, filled);
}

async function writeThrough(file: string, source: Source): Promise<void> {
  if (source instanceof Uint8Array) {
    await using handle = await open(file, 'wx');
    await handle.writeFile(source);
    await handle.chmod(MODE);
    return handle.sync();
  }
  await copyFile(source.file, file, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  await using handle = await open(file, 'r+');
  await handle.chmod(MODE);
  const now = new Date();
  await handle.utimes(now, now);
  await handle.datasync();
}

function leadsOut(name: string, path: string): StorageError {
  return new StorageError('path-refused', `a link on the way to ${path} leads out of ${name}`);
}

function ignoreMissing(error: unknown): undefined {
  if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined;
  throw error;
}
