/**
 * Layout of the folder of what was read. The files are the index: several programs use one folder, and one that is killed leaves
 * nothing that counts.
 *
 *   objects/<site>/<head>    a whole object: its head, and the payload behind it; <head> is the SHA-256 that the publication names
 *   small.db                 the same of small ones, by <site>/<head>
 *   synced/<site>            the objects that a sync has asked to keep, one <head> a line
 *   partial/<process>.<n>    an object that is on its way; renamed when it is whole, dropped when its process is gone
 *
 * <site> is the beginning of a SHA-256: no name says what was read. What is inside is what any cache on the way has seen as well.
 */
import { hash, randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isHexDigest } from '../../../core/encoding/digest.ts';
import { makeDirectoryNow } from '../../../node-support/make-directory.ts';

const OBJECTS = 'objects';
const SYNCED = 'synced';
const PARTIAL = 'partial';

/** Folders that this program makes in the folder. */
export const CACHE_FOLDERS = [OBJECTS, SYNCED, PARTIAL] as const;

export class Layout {
  readonly directory: string;
  readonly objects: string;
  readonly synced: string;
  readonly partial: string;

  constructor(directory: string) {
    this.directory = directory;
    this.objects = join(directory, OBJECTS);
    this.synced = join(directory, SYNCED);
    this.partial = join(directory, PARTIAL);
  }

  /** @throws the system's error */
  make(): void {
    makeDirectoryNow(this.directory, 0o700);
    chmodSync(this.directory, 0o700);
    for (const folder of [this.objects, this.synced, this.partial]) makeDirectoryNow(folder, 0o700);
  }

  /** @param name - as {@link objectName} gives it */
  fileOf(name: string): string {
    return `${this.objects}/${name}`;
  }

  /** Reads what a sync asked to keep, by the name of a site's folder. A list that is missing is empty; lines that are no names are passed over. */
  async readSynced(folder: string): Promise<Set<string>> {
    const text = await readFile(join(this.synced, folder), 'utf8').catch(() => '');
    return new Set(text.split('\n').filter(isHexDigest));
  }

  /** Writes all or nothing. */
  async writeSynced(site: string, heads: Iterable<string>): Promise<void> {
    this.make(); // the folder may have been removed, to forget what was read
    const beside = join(this.partial, `${process.pid}.${randomBytes(6).toString('hex')}`);
    try {
      await writeFile(beside, Array.from(heads, (head) => `${head}\n`).join(''), { mode: 0o600, flag: 'wx' });
      await rename(beside, join(this.synced, siteName(site)));
    } catch (error) {
      await rm(beside, { force: true }).catch(() => undefined);
      throw error;
    }
  }
}

/** The name of a site's folder, and of its list. */
export function siteName(site: string): string {
  if (site !== last.site) last = { site, name: hash('sha256', site).slice(0, 32) };
  return last.name;
}

/** Pages of one site are asked for one after the other. */
let last = { site: '', name: hash('sha256', '').slice(0, 32) };

/** @param head - SHA-256, hexadecimal */
export function objectName(site: string, head: string): string {
  return `${siteName(site)}/${head}`;
}

/** Lists names; none where there is no such folder, or it cannot be read. */
export function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
