/** What can be told of a database: by the Reader that runs on it, or out of the database itself, without asking the network. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { nowInSeconds } from '../../node-support/clock.ts';
import { ReaderError } from '../errors.ts';
import { Upstream } from '../network/upstream.ts';
import { BoundSites } from '../site/bound-sites.ts';
import { HostHealth } from '../site/host-health.ts';
import { hasDatabase, storeOptions } from '../store/locations.ts';
import type { KeyPlace } from '../store/protection.ts';
import { ReaderStore } from '../store/store.ts';
import type { Passphrase } from '../store/types.ts';
import { expectedPort } from './expected-port.ts';
import { askReader, inReader } from './in-reader.ts';
import { type ReaderStatus, type SiteStatus, siteStatuses } from './status.ts';

export interface StoredStatusOptions {
  readonly dataDirectory?: string;
  readonly keyFile?: string;
  readonly passphrase?: Passphrase;
}

export interface KnownStatus {
  /** As it says of itself; `undefined` where none runs. */
  readonly reader: ReaderStatus | undefined;
  /** As they were read last. */
  readonly sites: readonly SiteStatus[];
  /** Why nothing can be told of the sites, or of a Reader that runs and gives no answer. */
  readonly problem: ReaderError | undefined;
  /** `undefined` where there is no database, or none that says it. */
  readonly keysIn: KeyPlace['kind'] | undefined;
}

/** The Reader that runs on a database; `undefined` where none does. @throws ReaderError `reader-unreachable` */
export async function askStatus(directory: string): Promise<ReaderStatus | undefined> {
  return (await askReader<ReaderStatus>({ directory, name: 'status' }))?.result;
}

/** Makes no database where there is none. */
export async function readStatus(options: StoredStatusOptions): Promise<KnownStatus> {
  const { directory } = storeOptions(options);
  const nothing = { reader: undefined, sites: [], problem: undefined, keysIn: undefined };
  try {
    const reader = await askStatus(directory);
    if (reader) return { ...nothing, reader, sites: reader.sites, keysIn: reader.keysIn };
    if (!hasDatabase(directory)) return nothing;
    // A Reader that has started meanwhile is asked after all.
    return await inReader<KnownStatus>({ directory, name: 'status' }, () => readStored(options));
  } catch (problem) {
    if (!(problem instanceof ReaderError)) throw problem;
    return { ...nothing, problem };
  }
}

async function readStored(options: StoredStatusOptions): Promise<KnownStatus> {
  const storage = storeOptions(options);
  const locked = ReaderStore.openLocked(storage);
  const keysIn = locked.keyPlace?.kind;
  locked.close();
  const known = { reader: undefined, sites: [], problem: undefined, keysIn };
  try {
    return { ...known, sites: await storedSites(await ReaderStore.open(storage), storage.directory) };
  } catch (problem) {
    if (!(problem instanceof ReaderError)) throw problem;
    return { ...known, problem };
  }
}

async function storedSites(store: ReaderStore, directory: string): Promise<SiteStatus[]> {
  const upstream = new Upstream();
  try {
    const sites = new BoundSites(store, upstream, new HostHealth(), nowInSeconds);
    return await siteStatuses(sites, expectedPort(directory, store.preferences));
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
