import { LRUCache } from 'lru-cache';
import { LIMITS } from '../../limits.ts';

/**
 * Small objects as they were read from the disk: what one page after the other needs is not looked for there every time. They are verified
 * whenever they are used, like the files; and soon looked for again, as others may drop files, too.
 */
export class RecentObjects {
  readonly #byFile = new LRUCache<string, Uint8Array>({
    maxSize: LIMITS.cacheInMemory,
    sizeCalculation: ({ length }, file) => length + 2 * file.length,
    ttl: LIMITS.cacheInMemoryFor,
  });

  get(file: string): Uint8Array | undefined {
    return this.#byFile.get(file);
  }

  /** A copy is kept: memory out of Node.js's pool would hold what lies beside it, too. */
  set(file: string, bytes: Uint8Array): void {
    this.#byFile.set(file, new Uint8Array(bytes));
  }

  delete(file: string): void {
    this.#byFile.delete(file);
  }

  clear(): void {
    this.#byFile.clear();
  }
}
