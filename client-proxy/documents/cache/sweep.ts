/**
 * Looks through the folder of what was read: how much there is, and what has to go. And takes it off the disk, without a Reader: public
 * documents lie there as they are, and heads name site and path.
 */
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isHexDigest } from '../../../core/encoding/digest.ts';
import { forEachInFlight } from '../../../node-support/in-flight.ts';
import { LIMITS } from '../../limits.ts';
import { CACHE_FOLDERS, Layout, namesIn, siteName } from './layout.ts';

export interface SweepResult {
  /** On the disk, after what had to go is gone. */
  readonly bytes: number;
  readonly objects: number;
  /** By the name of a site's folder: the bytes of what a sync asked to keep and is there. */
  readonly synced: ReadonlyMap<string, number>;
}

interface CacheEntry {
  readonly file: string;
  readonly space: number;
  readonly used: number;
  /** The site's folder, where a sync asked to keep it. */
  readonly synced: string | undefined;
}

const AT_ONCE = 32;
const BLOCK = 4096;
const DAY = 86_400_000;

/** Disk space of a file. */
export function spaceOf(length: number): number {
  return Math.max(1, Math.ceil(length / BLOCK)) * BLOCK;
}

/**
 * Drops what is too much, the least recently used first.
 *
 * @param limit - the most bytes that may be there
 * @param room - bytes that are wanted free besides
 */
export async function scan(layout: Layout, limit: number, room: number): Promise<SweepResult> {
  await dropAbandoned(layout.partial);
  const found = await listObjects(layout);
  const synced = new Map<string, number>();
  for (const { synced: folder, space } of found)
    if (folder !== undefined) synced.set(folder, (synced.get(folder) ?? 0) + space);
  let bytes = found.reduce((sum, { space }) => sum + space, 0);
  let objects = found.length;
  if (objects < LIMITS.cacheObjects && bytes + room <= limit * LIMITS.cacheSweepAt) return { bytes, objects, synced };
  // Down to where there is room for a while.
  const mostBytes = Math.max(0, limit * LIMITS.cacheFilledTo - room);
  const mostObjects = LIMITS.cacheObjects * LIMITS.cacheFilledTo;
  const going: string[] = [];
  const oldestFirst = found.filter((one) => one.synced === undefined).sort((one, other) => one.used - other.used);
  for (const { file, space } of oldestFirst) {
    if (bytes <= mostBytes && objects <= mostObjects) break;
    going.push(file);
    bytes -= space;
    objects--;
  }
  await forEachInFlight(going, AT_ONCE, (file) => rm(file, { force: true }));
  return { bytes, objects, synced };
}

async function listObjects(layout: Layout): Promise<CacheEntry[]> {
  const found: CacheEntry[] = [];
  for (const folder of await namesIn(layout.objects)) {
    const synced = await layout.readSynced(folder);
    const names = (await namesIn(join(layout.objects, folder))).filter(isHexDigest);
    await forEachInFlight(names, AT_ONCE, async (name) => {
      const file = join(layout.objects, folder, name);
      const state = await stat(file).catch(() => undefined); // another program may have dropped it
      if (!state?.isFile()) return;
      const { size, mtimeMs: used } = state;
      found.push({ file, space: spaceOf(size), used, synced: synced.has(name) ? folder : undefined });
    });
  }
  return found;
}

/** Removes temporary files of processes that have ended. */
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

/** Removes what was read of a site, and what a sync asked to keep of it. @throws the system's error */
export async function forgetSite(layout: Layout, site: string): Promise<void> {
  await rm(layout.folderOf(site), REMOVAL);
  await rm(join(layout.synced, siteName(site)), REMOVAL);
}

/** Removes cached documents of sites. @returns whether all are removed */
export function forgetCachedSites(directory: string, sites: readonly string[]): Promise<boolean> {
  const layout = new Layout(directory);
  return succeeds(async () => {
    await dropAbandoned(layout.partial); // of whatever sites
    for (const site of sites) await forgetSite(layout, site);
  });
}

/** All of it. @returns whether it is gone */
export function forgetCached(directory: string): Promise<boolean> {
  return succeeds(async () => {
    for (const folder of CACHE_FOLDERS) await rm(join(directory, folder), REMOVAL);
  });
}

/** What cannot be removed is for the caller to tell: the keys are gone by then, and that shall be said as well. */
async function succeeds(work: () => Promise<void>): Promise<boolean> {
  return work().then(
    () => true,
    () => false,
  );
}
