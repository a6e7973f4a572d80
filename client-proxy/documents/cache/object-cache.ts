/**
 * Keeps what was read, as the ciphertext that it came as: bounded, the least recently used goes first, and verified anew whenever it is
 * read. Whole objects only: they are what a sync wants, and a film that is watched in parts leaves no holes to keep account of; no object
 * takes more than its share. The folder may be missing, full or not writable: then reading goes on without it.
 */
import { rmSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { orDiskFull } from '../../../node-support/disk-full.ts';
import { systemReason } from '../../../node-support/system-error.ts';
import { LIMITS } from '../../limits.ts';
import { Layout, objectName, siteName } from './layout.ts';
import { CacheWriter } from './object-writer.ts';
import { SmallObjects } from './small-objects.ts';
import { SmallKeeper, SmallWriter } from './small-writer.ts';
import { CachedObject } from './stored-object.ts';
import { forgetSite, scan, spaceOf } from './sweep.ts';

export interface CacheStatus {
  /** Bytes that the objects take on the disk; `undefined` before they were counted. */
  readonly bytes: number | undefined;
  readonly limit: number;
  readonly problem: string | undefined;
}

export type ObjectWriter = CacheWriter | SmallWriter;

export class ObjectCache {
  readonly #layout: Layout;
  readonly #small: SmallObjects;
  readonly #keeper: SmallKeeper;
  readonly #limit: number;
  readonly #writers = new Map<string, ObjectWriter>();
  /** Small objects that the disk gave. They are soon looked for again, as other programs may drop them, too. */
  readonly #recent = new LRUCache<string, CachedObject>({
    maxSize: LIMITS.cacheInMemory,
    sizeCalculation: ({ length }, name) => length + 2 * name.length,
    ttl: LIMITS.cacheInMemoryFor,
  });
  #number = 0;
  /** Bytes on the disk as far as this program knows, and on the way there. */
  #used = 0;
  #objects = 0;
  #reserved = 0;
  #counted = false;
  /** Bytes kept since the folder was looked through: others may have added as much. */
  #sinceScan = 0;
  #scanning: Promise<void> | undefined;
  #pausedUntil = 0;
  #problem: unknown;

  /** @param bytes - the most that the folder may hold; 0: nothing is kept, and nothing is looked for */
  constructor(directory: string, bytes: number) {
    this.#layout = new Layout(directory);
    this.#small = new SmallObjects(directory);
    this.#keeper = new SmallKeeper(directory);
    this.#limit = bytes;
    if (bytes === 0) return;
    try {
      this.#layout.make();
      this.scan().catch(() => undefined);
    } catch (error) {
      this.#pause(error);
    }
  }

  /** @param head - SHA-256 that the publication names, hexadecimal */
  find(site: string, head: string): CachedObject | undefined {
    if (this.#limit === 0) return undefined;
    const name = objectName(site, head);
    return this.#recent.get(name) ?? this.#findSmall(name) ?? CachedObject.find(this.#layout.fileOf(name));
  }

  get directory(): string {
    return this.#layout.directory;
  }

  drop(site: string, head: string): void {
    const name = objectName(site, head);
    this.#recent.delete(name);
    try {
      this.#small.dropNamed(name);
      rmSync(this.#layout.fileOf(name), { force: true });
    } catch (error) {
      this.#pause(error);
    }
  }

  /** Begins to keep an object, where there is room. @param synced - may take all there is; the reading waits for the disk */
  begin(site: string, head: string, length: number, synced = false): ObjectWriter | undefined {
    const name = objectName(site, head);
    if (this.#limit === 0 || performance.now() < this.#pausedUntil || this.#writers.has(name)) return undefined;
    const space = spaceOf(length);
    const isSmall = length <= LIMITS.cacheSmall;
    if (!this.#hasRoomFor(space, synced) || (isSmall && !this.#keeper.hasRoomFor(length))) return undefined;
    this.#reserved += space;
    const ended = (whole: boolean, error?: unknown) => {
      this.#writers.delete(name);
      this.#reserved -= space;
      if (error !== undefined) this.#pause(error);
      if (!whole) return;
      this.#used += space;
      this.#sinceScan += space;
      this.#objects++;
    };
    const writer = isSmall
      ? new SmallWriter(length, (bytes) => this.#keeper.keep({ name, bytes }), ended)
      : new CacheWriter({ ...this.#filesFor(name), length, patient: synced, ended });
    this.#writers.set(name, writer);
    return writer;
  }

  writerOf(site: string, head: string): ObjectWriter | undefined {
    return this.#writers.get(objectName(site, head));
  }

  async makeRoom(bytes: number): Promise<void> {
    await this.scan().catch(() => undefined); // a scan may be under way that knows nothing of it
    await this.scan(bytes);
  }

  /** Looks through the folder, and drops what is too much. One look at a time. */
  scan(room = 0): Promise<void> {
    this.#scanning ??= this.#scan(room).finally(() => {
      this.#scanning = undefined;
    });
    return this.#scanning;
  }

  /** Bytes on the disk that syncs of all sites may have at most: what is there to be read again otherwise may go. */
  get mostForSyncs(): number {
    return Math.floor(this.#limit * LIMITS.cacheFilledTo);
  }

  /** Bytes on the disk that syncs of other sites have asked to keep. */
  async syncedBeside(site: string): Promise<number> {
    const { synced } = await scan(this.#layout, this.#small, this.#limit, 0);
    const own = siteName(site);
    return Array.from(synced).reduce((sum, [folder, bytes]) => (folder === own ? sum : sum + bytes), 0);
  }

  /** Adds up what objects take on the disk, as far as they are there. */
  async spaceOfAll(site: string, heads: readonly string[]): Promise<number> {
    let total = 0;
    for (const head of heads) {
      const name = objectName(site, head);
      const length =
        this.#findSmall(name)?.length ?? (await stat(this.#layout.fileOf(name)).catch(() => undefined))?.size;
      if (length !== undefined) total += spaceOf(length);
    }
    return total;
  }

  /** Keeps what a sync wants to stay, whatever else is read; takes the place of what it wanted before. */
  keepSynced(site: string, heads: Iterable<string>): Promise<void> {
    return this.#layout.writeSynced(site, heads);
  }

  syncedOf(site: string): Promise<Set<string>> {
    return this.#layout.readSynced(siteName(site));
  }

  async forget(site: string): Promise<void> {
    this.#recent.clear();
    await forgetSite(this.#layout, this.#small, site);
    await this.scan();
  }

  status(): CacheStatus {
    const { problem } = this;
    return {
      bytes: this.#counted ? this.#used : undefined,
      limit: this.#limit,
      problem: problem === undefined ? undefined : systemReason(orDiskFull(problem)),
    };
  }

  get problem(): unknown {
    return performance.now() < this.#pausedUntil ? this.#problem : undefined;
  }

  async close(): Promise<void> {
    for (const writer of this.#writers.values()) writer.abandon();
    await Promise.all(Array.from(this.#writers.values(), (writer) => writer.settled()));
    await this.#keeper.close();
    await this.#scanning?.catch(() => undefined);
    this.#small.close();
  }

  /** A database that cannot be read is as if it had nothing. */
  #findSmall(name: string): CachedObject | undefined {
    try {
      const bytes = this.#small.find(name);
      if (bytes === undefined) return undefined;
      const stored = CachedObject.of(bytes);
      this.#recent.set(name, stored);
      return stored;
    } catch {
      return undefined;
    }
  }

  #filesFor(name: string): { partialFile: string; file: string } {
    const partial = `${process.pid}.${Date.now().toString(36)}${++this.#number}`;
    return { partialFile: join(this.#layout.partial, partial), file: this.#layout.fileOf(name) };
  }

  #hasRoomFor(space: number, synced: boolean): boolean {
    if (!synced && space > this.#limit / LIMITS.cacheShare) return false;
    const total = this.#used + this.#reserved + space;
    const crowded = this.#objects >= LIMITS.cacheObjects;
    const others = this.#sinceScan > this.#limit / LIMITS.cacheShare;
    if (crowded || others || total > this.#limit * LIMITS.cacheSweepAt) this.scan(space).catch(() => undefined);
    return total <= this.#limit && !crowded;
  }

  async #scan(room: number): Promise<void> {
    const before = { used: this.#used, objects: this.#objects };
    const found = await scan(this.#layout, this.#small, this.#limit, room + this.#reserved);
    // Objects that were kept in the meantime may be counted twice, never not at all.
    const meanwhile = { used: this.#used - before.used, objects: this.#objects - before.objects };
    this.#used = found.bytes + meanwhile.used;
    this.#objects = found.objects + meanwhile.objects;
    this.#sinceScan = 0;
    this.#counted = true;
  }

  /** A disk that is full or gone is not asked again for every document. */
  #pause(error: unknown): void {
    this.#problem = error;
    this.#pausedUntil = performance.now() + LIMITS.cachePause;
  }
}
