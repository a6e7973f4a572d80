/** Which objects a sync has asked to keep: a list for each site, read when something has to go. */
import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObjectName, type Layout } from './layout.ts';

export class SyncedObjects {
  readonly #layout: Layout;

  constructor(layout: Layout) {
    this.#layout = layout;
  }

  /** A list that is missing is empty; lines that are no names are passed over. */
  async read(file: string): Promise<Set<string>> {
    const text = await readFile(file, 'utf8').catch(() => '');
    return new Set(text.split('\n').filter(isObjectName));
  }

  /** Whole or not at all. */
  async write(site: string, heads: Iterable<string>): Promise<void> {
    const beside = join(this.#layout.partial, `${process.pid}.${randomBytes(6).toString('hex')}`);
    try {
      await writeFile(beside, Array.from(heads, (head) => `${head}\n`).join(''), { mode: 0o600, flag: 'wx' });
      await rename(beside, this.#layout.syncedFile(site));
    } catch (error) {
      await rm(beside, { force: true }).catch(() => undefined);
      throw error;
    }
  }
}
