/**
 * What was read stays here, as the ciphertext that it came as: bounded, the least recently used goes first, and verified anew whenever it is
 * read. Whole objects only: they are what a sync wants, and a film that somebody looks into leaves no holes to keep account of; no object
 * takes more than its share. The folder may be missing, full or not writable: then reading goes on without it.
 */
import { rmSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectoryNow } from '../../../node-support/make-directory.ts';
import { LIMITS } from '../../limits.ts';
import { Layout } from './layout.ts';
import { ObjectWriter } from './object-writer.ts';
import { RecentObjects } from './recent-objects.ts';
import { StoredObject } from './stored-object.ts';
import { scan, spaceOf } from './sweep.ts';
import { SyncedObjects } from './synced-objects.ts';

export interface CacheOptions {
  readonly directory: string;
  /** The most that the folder may hold; 0: nothing is kept, and nothing is looked for. */
  readonly bytes: number;
}

export interface CacheStatus {
  /** What the objects take on the disk; `undefined` before they were counted. */
  readonly bytes: number | undefined;
  readonly limit: number;
  /** Why nothing is kept at the moment. */
  readonly problem: string | undefined;
}

/** How an object is to be kept. */
export interface KeepWish {
  /** Whether a sync asked for it: then it may take all there is, and the reading waits for the disk. */
  readonly synced?: boolean;
}

export class ObjectCache {
  readonly #layout: Layout;
  readonly #limit: number;
  readonly #synced: SyncedObjects;
  readonly #writers = new Map<string, ObjectWriter>();
  readonly #folders = new Set<string>();
  readonly #recent = new RecentObjects();
  #number = 0;
  /** On the disk as far as this program knows, and on the way there. */
  #used = 0;
  #objects = 0;
  #reserved = 0;
  #counted = false;
  /** Kept since the folder was looked through: others may have added as much. */
  #sinceScan = 0;
  #scanning: Promise<void> | undefined;
  #pausedUntil = 0;
  #problem: string | undefined;

  constructor({ directory, bytes }: CacheOptions) {
    this.#layout = new Layout(directory);
    this.#limit = bytes;
    this.#synced = new SyncedObjects(this.#layout);
    if (bytes === 0) return;
    try {
      this.#layout.make();
      this.scan().catch(() => undefined);
    } catch (error) {
      this.#pause(error);
    }
  }

  /** @param head - SHA-256 that the publication names, hexadecimal */
  find(site: string, head: string): StoredObject | undefined {
    if (this.#limit === 0) return undefined;
    const file = this.#layout.objectFile(site, head);
    const recent = this.#recent.get(file);
    if (recent) return StoredObject.of(recent);
    const stored = StoredObject.find(file);
    if (stored?.bytes) this.#recent.set(file, stored.bytes);
    return stored;
  }

  /** The folder, for messages. */
  get directory(): string {
    return this.#layout.directory;
  }

  /** What is there is no good. */
  drop(site: string, head: string): void {
    const file = this.#layout.objectFile(site, head);
    this.#recent.delete(file);
    try {
      rmSync(file, { force: true });
    } catch (error) {
      this.#pause(error);
    }
  }

  /**
   * Begins to keep an object.
   *
   * @param length - of head and payload
   * @returns `undefined` where there is no room, or somebody keeps it already
   */
  begin(site: string, head: string, length: number, { synced = false }: KeepWish = {}): ObjectWriter | undefined {
    const file = this.#layout.objectFile(site, head);
    if (this.#limit === 0 || performance.now() < this.#pausedUntil || this.#writers.has(file)) return undefined;
    const space = spaceOf(length);
    if (!this.#hasRoomFor(space, synced) || !this.#makeFolder(this.#layout.folderOf(site))) return undefined;
    this.#reserved += space;
    const partialFile = join(this.#layout.partial, `${process.pid}.${Date.now().toString(36)}${++this.#number}`);
    const ended = (whole: boolean, error?: unknown) => {
      this.#writers.delete(file);
      this.#reserved -= space;
      if (whole) this.#count(space);
      else if (error !== undefined) this.#pause(error);
    };
    const writer = new ObjectWriter({ partialFile, file, length, patient: synced, ended });
    this.#writers.set(file, writer);
    return writer;
  }

  /** Drops what was not used for long, until there is room. */
  async makeRoom(bytes: number): Promise<void> {
    await this.scan().catch(() => undefined); // one may be under way that knows nothing of it
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
    const { synced } = await scan(this.#layout, { limit: this.#limit, room: 0 });
    const own = this.#layout.syncedFile(site);
    return Array.from(synced).reduce((sum, [list, bytes]) => (list === own ? sum : sum + bytes), 0);
  }

  /** What objects take on the disk, as far as they are there. */
  async spaceOfAll(site: string, heads: readonly string[]): Promise<number> {
    let total = 0;
    for (const head of heads) {
      const state = await stat(this.#layout.objectFile(site, head)).catch(() => undefined);
      if (state) total += spaceOf(state.size);
    }
    return total;
  }

  /** What a sync wants to stay, whatever else is read; takes the place of what it wanted before. */
  keepSynced(site: string, heads: Iterable<string>): Promise<void> {
    return this.#synced.write(site, heads);
  }

  syncedOf(site: string): Promise<Set<string>> {
    return this.#synced.read(this.#layout.syncedFile(site));
  }

  /** Forgets all that was read of a site. */
  async forget(site: string): Promise<void> {
    this.#recent.clear();
    await rm(this.#layout.folderOf(site), { recursive: true, force: true });
    await rm(this.#layout.syncedFile(site), { force: true });
    this.#folders.delete(this.#layout.folderOf(site));
    await this.scan();
  }

  status(): CacheStatus {
    const paused = performance.now() < this.#pausedUntil;
    return {
      bytes: this.#counted ? this.#used : undefined,
      limit: this.#limit,
      problem: paused ? this.#problem : undefined,
    };
  }

  /** Waits for what is being written down. */
  async close(): Promise<void> {
    for (const writer of this.#writers.values()) writer.abandon();
    await Promise.all(Array.from(this.#writers.values(), (writer) => writer.settled()));
    await this.#scanning?.catch(() => undefined);
  }

  #hasRoomFor(space: number, synced: boolean): boolean {
    if (!synced && space > this.#limit / LIMITS.cacheShare) return false;
    const total = this.#used + this.#reserved + space;
    const crowded = this.#objects >= LIMITS.cacheObjects;
    const others = this.#sinceScan > this.#limit / LIMITS.cacheShare;
    if (crowded || others || total > this.#limit * LIMITS.cacheSweepAt) this.scan(space).catch(() => undefined);
    return total <= this.#limit && !crowded;
  }

  #makeFolder(folder: string): boolean {
    if (this.#folders.has(folder)) return true;
    try {
      makeDirectoryNow(folder, 0o700);
      this.#folders.add(folder);
      return true;
    } catch (error) {
      this.#pause(error);
      return false;
    }
  }

  #count(space: number): void {
    this.#used += space;
    this.#sinceScan += space;
    this.#objects++;
  }

  async #scan(room: number): Promise<void> {
    const before = { used: this.#used, objects: this.#objects };
    const found = await scan(this.#layout, { limit: this.#limit, room: room + this.#reserved });
    // What was kept in the meantime may be counted twice, never not at all.
    const meanwhile = { used: this.#used - before.used, objects: this.#objects - before.objects };
    this.#used = found.bytes + meanwhile.used;
    this.#objects = found.objects + meanwhile.objects;
    this.#sinceScan = 0;
    this.#counted = true;
  }

  /** A disk that is full or gone is not asked again for every document. */
  #pause(error: unknown): void {
    this.#problem = error instanceof Error ? error.message : String(error);
    this.#pausedUntil = performance.now() + LIMITS.cachePause;
    this.#folders.clear();
  }
}
