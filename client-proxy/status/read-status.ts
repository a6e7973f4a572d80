/** What can be told of the sites without a Reader that runs: out of the database, and without asking anybody. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { nowInSeconds } from '../../node-support/clock.ts';
import { BoundSites } from '../bound-sites.ts';
import { HostHealth } from '../content/host-health.ts';
import { Upstream } from '../content/upstream.ts';
import { expectedPort } from '../service/expected-port.ts';
import { hasDatabase, storeOptions } from '../store/locations.ts';
import type { Passphrase } from '../store/storage-key.ts';
import { ReaderStore } from '../store/store.ts';
import { type SiteStatus, siteStatuses } from './status.ts';

export interface StoredStatusOptions {
  readonly dataDirectory?: string;
  readonly keyFile?: string;
  readonly passphrase?: Passphrase;
  /** Where the Reader would listen, unless its service or its settings say something else. */
  readonly port: number;
}

/**
 * The sites as they were read last; none where there is no database yet, which is not made for it.
 *
 * @throws ReaderError of the store
 */
export async function readSiteStatuses({ port, ...options }: StoredStatusOptions): Promise<SiteStatus[]> {
  const storage = storeOptions(options);
  if (!hasDatabase(storage.directory)) return [];
  const store = await ReaderStore.open(storage);
  const upstream = new Upstream();
  try {
    const sites = new BoundSites(store, upstream, new HostHealth(), nowInSeconds);
    return await siteStatuses(sites, expectedPort(storage.directory, store.preferences) ?? port);
  } finally {
    await upstream.close();
    store.close();
  }
}

/** Bytes of all files below a folder; 0 where there is none. */
export async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name)).catch(() => ({ size: 0 }))).size;
  }
  return bytes;
}
