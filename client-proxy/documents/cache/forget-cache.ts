/** Takes what was read off the disk, without a Reader: public documents lie there as they are, and heads name site and path. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../../../node-support/system-error.ts';
import { CACHE_FOLDERS, Layout } from './layout.ts';
import { dropAbandoned } from './sweep.ts';

/** A Reader that runs may be writing into a folder while it goes. */
const REMOVAL = { recursive: true, force: true, maxRetries: 3 } as const;

/** What was read of these sites. @returns whether it is gone */
export function forgetCachedSites(directory: string, sites: readonly string[]): Promise<boolean> {
  const layout = new Layout(directory);
  return succeeds(async () => {
    await dropAbandoned(layout.partial); // of whatever sites
    for (const site of sites) {
      await rm(layout.folderOf(site), REMOVAL);
      await rm(layout.syncedFile(site), REMOVAL);
    }
  });
}

/** All of it. The folders stay, for a Reader that runs. @returns whether it is gone */
export function forgetCached(directory: string): Promise<boolean> {
  return succeeds(async () => {
    for (const folder of CACHE_FOLDERS.map((name) => join(directory, name)))
      for (const name of await namesIn(folder)) await rm(join(folder, name), REMOVAL);
  });
}

/** What cannot be removed is for the caller to tell: the keys are gone by then, and that shall be said as well. */
async function succeeds(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch {
    return false;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}
