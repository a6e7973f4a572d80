/** Report of `wispr proxy status`: of the Reader that runs, or out of the database itself, without asking the network. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { CacheStatus } from '../documents/cache/object-cache.ts';
import { ReaderError } from '../errors.ts';
import { gatewayUrl } from '../gateway/label.ts';
import { Upstream } from '../network/upstream.ts';
import { BoundSites } from '../site/bound-sites.ts';
import { HostHealth } from '../site/host-health.ts';
import { type PublicationStatus, statusOf } from '../site/publication-status.ts';
import { hasDatabase, type StorageOptions, storeOptions } from '../store/locations.ts';
import type { KeyLocation } from '../store/protection.ts';
import { SettingsKeeper } from '../store/settings.ts';
import { ReaderStore } from '../store/store.ts';
import { askReader, inReader } from './in-reader.ts';

export interface SiteStatus {
  readonly site: string;
  /** Name that the publisher gives itself. */
  readonly publisher: string;
  /** URL at which a browser opens it, once the Reader runs; left out where its port is not known before. */
  readonly gateway?: string;
  readonly publication: PublicationStatus;
}

export interface ReaderStatus {
  readonly version: string;
  readonly process: number;
  /** Seconds since 1970. */
  readonly started: number;
  readonly url: string;
  readonly sites: readonly SiteStatus[];
  readonly cache: CacheStatus;
  /** Tells whether its keys are locked away; then it can tell of no site. Where everything was forgotten, there are none. */
  readonly locked: boolean;
  /** Place of the key of its database is; left out where everything was forgotten. */
  readonly keysIn?: KeyLocation['kind'];
}

/** @param port - of the gateway, where it is known */
export async function siteStatuses(sites: BoundSites, port: number | undefined): Promise<SiteStatus[]> {
  await sites.refresh();
  return Promise.all(
    sites.all().map(async ({ site, label, publisherName, publication }) => ({
      site,
      publisher: publisherName,
      ...(port !== undefined && { gateway: gatewayUrl(label, port) }),
      publication: await statusOf(publication.publication, nowInSeconds()),
    })),
  );
}

export interface StatusReport {
  readonly reader: ReaderStatus | undefined;
  readonly sites: readonly SiteStatus[];
  /** Reason why nothing can be told of the sites, or of a Reader that runs and gives no answer. */
  readonly problem: ReaderError | undefined;
  /** `undefined` where there is no database, or none that says it. */
  readonly keysIn: KeyLocation['kind'] | undefined;
}

/** The Reader that runs on a database; `undefined` where none does. @throws ReaderError `reader-unreachable` */
export async function askStatus(directory: string): Promise<ReaderStatus | undefined> {
  return (await askReader<ReaderStatus>({ directory, name: 'status' }))?.result;
}

/** Makes no database where there is none. */
export async function readStatus(options: StorageOptions): Promise<StatusReport> {
  const { directory } = storeOptions(options);
  const nothing = { reader: undefined, sites: [], problem: undefined, keysIn: undefined };
  if (!hasDatabase(directory)) return nothing;
  try {
    const command = { directory, name: 'status' } as const;
    const found = await inReader<ReaderStatus | StatusReport>(command, () => readStored(options));
    return 'process' in found ? { ...nothing, reader: found, sites: found.sites, keysIn: found.keysIn } : found;
  } catch (problem) {
    if (!(problem instanceof ReaderError)) throw problem;
    return { ...nothing, problem };
  }
}

async function readStored(options: StorageOptions): Promise<StatusReport> {
  const storage = storeOptions(options);
  using store = ReaderStore.openLocked(storage);
  const keysIn = store.keyLocation?.kind;
  const known = { reader: undefined, sites: [], problem: undefined, keysIn };
  try {
    await store.unlock(await options.passphrase?.(false));
    return { ...known, sites: await storedSites(store, new SettingsKeeper(store.preferences).current.port) };
  } catch (problem) {
    if (!(problem instanceof ReaderError)) throw problem;
    return { ...known, problem };
  }
}

async function storedSites(store: ReaderStore, port: number | undefined): Promise<SiteStatus[]> {
  await using upstream = new Upstream();
  return await siteStatuses(new BoundSites(store, upstream, new HostHealth(), nowInSeconds), port);
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
