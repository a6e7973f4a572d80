/** Looks through the folder of what was read: how much there is, what has to go; and removes it without a Reader. */
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { isHexDigest } from '../../../core/encoding/digest.ts';
import { forEachInFlight } from '../../../node-support/in-flight.ts';
import { LIMITS } from '../../limits.ts';
import { CACHE_FOLDERS, Layout, namesIn, siteName } from './layout.ts';
import { SmallObjects } from './small-objects.ts';

export interface SweepResult {
  /** Bytes on the disk, after what had to go is gone. */
  readonly bytes: number;
  readonly objects: number;
  /** Bytes of what a sync asked to keep and is there, by the name of a site's folder. */
  readonly synced: ReadonlyMap<string, number>;
}

interface CacheEntry {
  /** A file, or the id of a small object. */
  readonly place: string | number;
  readonly space: number;
  readonly used: number;
  /** The site's folder, where a sync asked to keep it. */
  readonly synced: string | undefined;
}

const AT_ONCE = 32;
/** Small objects that are looked at, or dropped, before others have their turn. */
const SMALL_AT_ONCE = 200;
const BLOCK = 4096;
const DAY = 86_400_000;

/** Disk space of a file. */
export function spaceOf(length: number): number {
  return Math.max(1, Math.ceil(length / BLOCK)) * BLOCK;
}

/** Drops the least recently used. @param limit - the most bytes @param room - bytes that are wanted free besides */
export async function scan(layout: Layout, small: SmallObjects, limit: number, room: number): Promise<SweepResult> {
  await dropAbandoned(layout.partial);
  const found = await listObjects(layout);
  await listSmall(layout, small, found).catch(() => undefined); // reading goes on without them
  const synced = new Map<string, number>();
  for (const { synced: folder, space } of found)
    if (folder !== undefined) synced.set(folder, (synced.get(folder) ?? 0) + space);
  let bytes = found.reduce((sum, { space }) => sum + space, 0);
  let objects = found.length;
  if (objects < LIMITS.cacheObjects && bytes + room <= limit * LIMITS.cacheSweepAt) return { bytes, objects, synced };
  // Bounds that leave room for a while.
  const mostBytes = Math.max(0, limit * LIMITS.cacheFilledTo - room);
  const mostObjects = LIMITS.cacheObjects * LIMITS.cacheFilledTo;
  const files: string[] = [];
  const ids: number[] = [];
  const oldestFirst = found.filter((one) => one.synced === undefined).sort((one, other) => one.used - other.used);
  for (const { place, space } of oldestFirst) {
    if (bytes <= mostBytes && objects <= mostObjects) break;
    if (typeof place === 'string') files.push(place);
    else ids.push(place);
    bytes -= space;
    objects--;
  }
  await forEachInFlight(files, AT_ONCE, (file) => rm(file, { force: true }));
  for (let start = 0; start < ids.length; start += SMALL_AT_ONCE) {
    small.drop(ids.slice(start, start + SMALL_AT_ONCE));
    await setImmediate();
  }
  if (ids.length > 0) small.trim();
  return { bytes, objects, synced };
}

async function listSmall(layout: Layout, small: SmallObjects, found: CacheEntry[]): Promise<void> {
  const lists = new Map<string, Set<string>>();
  for (let after = 0; ; await setImmediate()) {
    const entries = small.list(after, SMALL_AT_ONCE);
    for (const { id, name, length, used } of entries) {
      const [folder = '', head = ''] = name.split('/');
      const list = lists.get(folder) ?? (await layout.readSynced(folder));
      lists.set(folder, list);
      found.push({ place: id, space: spaceOf(length), used, synced: list.has(head) ? folder : undefined });
      after = id;
    }
    if (entries.length === 0) return;
  }
}

async function listObjects(layout: Layout): Promise<CacheEntry[]> {
  const found: CacheEntry[] = [];
  for (const folder of await namesIn(layout.objects)) {
    const synced = await layout.readSynced(folder);
    const names = (await namesIn(join(layout.objects, folder))).filter(isHexDigest);
    await forEachInFlight(names, AT_ONCE, async (name) => {
      const file = join(layout.objects, folder, name);
      const state = await stat(file).catch(() => undefined); // a program beside this one may have dropped it
      if (!state?.isFile()) return;
      const { size, mtimeMs: used } = state;
      found.push({ place: file, space: spaceOf(size), used, synced: synced.has(name) ? folder : undefined });
    });
  }
  return found;
}

async function dropAbandoned(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    const file = join(folder, name);
    const process = Number(name.split('.', 1)[0]);
    const age = Date.now() - ((await stat(file).catch(() => undefined))?.mtimeMs ?? 0);
    if (!isRunning(process) || age > DAY) await rm(file, { force: true });
  }
}

function isRunning(id: number): boolean {
  if (!Number.isSafeInteger(id) || id <= 0) return false;
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A Reader that runs may be writing into a folder while it goes. */
const REMOVAL = { recursive: true, force: true, maxRetries: 3 } as const;

/** Removes what was read of a site, and what a sync asked to keep of it. @throws the system's error, or that of SQLite */
export async function forgetSite(layout: Layout, small: SmallObjects, site: string): Promise<void> {
  const name = siteName(site);
  await rm(layout.fileOf(name), REMOVAL);
  await rm(join(layout.synced, name), REMOVAL);
  small.forget(`${name}/`);
}

/** Removes cached documents of sites. @returns whether all are removed */
export function forgetCachedSites(directory: string, sites: readonly string[]): Promise<boolean> {
  const layout = new Layout(directory);
  return succeeds(async () => {
    await dropAbandoned(layout.partial); // leftovers of any site
    await withSmall(directory, async (small) => {
      for (const site of sites) await forgetSite(layout, small, site);
    });
  });
}

/** Removes all of it. A Reader that runs has the database of small ones open, so its files stay. @returns whether it is gone */
export function forgetCached(directory: string): Promise<boolean> {
  return succeeds(async () => {
    for (const folder of CACHE_FOLDERS) await rm(join(directory, folder), REMOVAL);
    await withSmall(directory, async (small) => small.forget(''));
  });
}

async function withSmall(directory: string, work: (small: SmallObjects) => Promise<void>): Promise<void> {
  const small = new SmallObjects(directory);
  try {
    await work(small);
  } finally {
    small.close();
  }
}

/** Tells whether all was removed, for the caller to report: the keys are gone by then, and that shall be said as well. */
async function succeeds(work: () => Promise<void>): Promise<boolean> {
  return work().then(
    () => true,
    () => false,
  );
}
