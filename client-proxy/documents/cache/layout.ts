/**
 * Where things lie in the folder of what was read. The files are the index: several programs use one folder, and one that is killed leaves
 * nothing that counts.
 *
 *   objects/<site>/<head>    a whole object: its head, and the payload behind it; <head> is the SHA-256 that the publication names
 *   synced/<site>            the objects that a sync has asked to keep, one <head> a line
 *   partial/<process>.<n>    an object that is on its way; renamed when it is whole, dropped when its process is gone
 *
 * <site> is the beginning of a SHA-256: no name says what was read. What is inside is what any cache on the way has seen as well.
 */
import { createHash } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { isHexDigest } from '../../../core/encoding/digest.ts';
import { makeDirectoryNow } from '../../../node-support/make-directory.ts';

const OBJECTS = 'objects';
const SYNCED = 'synced';
const PARTIAL = 'partial';

/** All that this program makes in the folder. */
export const CACHE_FOLDERS = [OBJECTS, SYNCED, PARTIAL] as const;

export class Layout {
  readonly directory: string;
  readonly objects: string;
  readonly synced: string;
  readonly partial: string;
  /** Site folders by site; they are few. */
  readonly #folders = new Map<string, string>();

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

  /** @param head - SHA-256, hexadecimal */
  objectFile(site: string, head: string): string {
    return `${this.folderOf(site)}/${head}`;
  }

  folderOf(site: string): string {
    let folder = this.#folders.get(site);
    if (folder === undefined) {
      folder = join(this.objects, siteName(site));
      this.#folders.set(site, folder);
    }
    return folder;
  }

  syncedFile(site: string): string {
    return join(this.synced, siteName(site));
  }
}

/** Whether a file's name is that of an object. */
export function isObjectName(name: string): boolean {
  return isHexDigest(name);
}

function siteName(site: string): string {
  return createHash('sha256').update(site).digest('hex').slice(0, 32);
}
