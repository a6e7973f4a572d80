/** Looks through the folder of what was read: how much there is, and what has to go. */
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { forEachInFlight } from '../../../node-support/in-flight.ts';
import { LIMITS } from '../../limits.ts';
import { isObjectName, type Layout } from './layout.ts';
import { SyncedObjects } from './synced-objects.ts';

export interface SweepBounds {
  readonly limit: number;
  /** Wanted free besides. */
  readonly room: number;
}

export interface SweepResult {
  /** On the disk, after what had to go is gone. */
  readonly bytes: number;
  readonly objects: number;
  /** By the list that names them: the bytes of what a sync asked to keep and is there. */
  readonly synced: ReadonlyMap<string, number>;
}

interface Found {
  readonly file: string;
  readonly space: number;
  readonly used: number;
  /** The list that names it. */
  readonly list: string | undefined;
}

const AT_ONCE = 32;
const BLOCK = 4096;
const DAY = 86_400_000;

/** What a file takes on the disk. */
export function spaceOf(length: number): number {
  return Math.max(1, Math.ceil(length / BLOCK)) * BLOCK;
}

export async function scan(layout: Layout, bounds: SweepBounds): Promise<SweepResult> {
  await dropAbandoned(layout.partial);
  const found = await listObjects(layout);
  const bytes = found.reduce((sum, { space }) => sum + space, 0);
  const crowded = found.length >= LIMITS.cacheObjects;
  const gone =
    crowded || bytes + bounds.room > bounds.limit * LIMITS.cacheSweepAt ? await dropOldest(found, bounds) : NONE;
  const synced = new Map<string, number>();
  for (const { list, space } of found) if (list !== undefined) synced.set(list, (synced.get(list) ?? 0) + space);
  return { bytes: bytes - gone.bytes, objects: found.length - gone.objects, synced };
}

const NONE = { bytes: 0, objects: 0 };

/** Down to where there is room for a while. */
async function dropOldest(found: readonly Found[], { limit, room }: SweepBounds): Promise<typeof NONE> {
  const target = Math.max(0, limit * LIMITS.cacheFilledTo - room);
  const most = LIMITS.cacheObjects * LIMITS.cacheFilledTo;
  let bytes = found.reduce((sum, { space }) => sum + space, 0);
  let objects = found.length;
  const going: Found[] = [];
  for (const one of found.filter(({ list }) => list === undefined).sort((a, b) => a.used - b.used)) {
    if (bytes <= target && objects <= most) break;
    going.push(one);
    bytes -= one.space;
    objects--;
  }
  await forEachInFlight(going, AT_ONCE, ({ file }) => rm(file, { force: true }));
  return { bytes: going.reduce((sum, { space }) => sum + space, 0), objects: going.length };
}

async function listObjects(layout: Layout): Promise<Found[]> {
  const lists = new SyncedObjects(layout);
  const found: Found[] = [];
  for (const folder of await namesIn(layout.objects)) {
    const list = join(layout.synced, folder);
    const synced = await lists.read(list);
    const names = (await namesIn(join(layout.objects, folder))).filter(isObjectName);
    await forEachInFlight(names, AT_ONCE, async (name) => {
      const file = join(layout.objects, folder, name);
      const state = await stat(file).catch(() => undefined); // another program may have dropped it
      if (state?.isFile())
        found.push({
          file,
          space: spaceOf(state.size),
          used: state.mtimeMs,
          list: synced.has(name) ? list : undefined,
        });
    });
  }
  return found;
}

/** What programs have left behind that do not run any more. */
export async function dropAbandoned(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    const file = join(folder, name);
    const process = Number(basename(name).split('.', 1)[0]);
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

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
