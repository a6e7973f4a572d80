/** `wispr sync`: a site, or a part of it, into the cache, for when there is no network. */
import { statfs } from 'node:fs/promises';
import { CodedError } from '../../core/errors.ts';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { forEachInFlight } from '../../node-support/in-flight.ts';
import { size } from '../../node-support/size.ts';
import { systemReason } from '../../node-support/system-error.ts';
import type { WantedDocument } from '../../reading/open-at.ts';
import type { ObjectCache } from '../documents/cache/object-cache.ts';
import { spaceOf } from '../documents/cache/sweep.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { inReader } from '../running/in-reader.ts';
import { type OpenReader, openReader } from '../server/open-reader.ts';
import type { BoundSites } from '../site/bound-sites.ts';
import { hasDatabase, storeOptions } from '../store/locations.ts';
import { MEGABYTE } from '../store/settings.ts';
import { notConnected } from './locate.ts';
import { fetchWhole, measure, type SyncContext } from './sync-document.ts';
import type { FailedDocument, FailureReason, SyncOptions, SyncProgress, SyncSummary, SyncWish } from './types.ts';
import { type Listing, lengthIfKept, listWanted } from './wanted.ts';

const ignore = () => undefined;
/** Milliseconds. */
const PROGRESS_INTERVAL = 100;

/**
 * Fetches what is wanted into the cache, verified, and keeps it there while the publication names it, whatever else is read. A run that was
 * ended goes on where it was with the next one.
 *
 * @throws ReaderError `not-connected` where the site is not connected; `cache-too-small` before anything is fetched, with the lengths;
 * `output-failed`; those of the store; whatever kept the publication from being read; `options.signal.reason`
 */
export async function syncSite({ onProgress, signal, ...options }: SyncOptions): Promise<SyncSummary> {
  const { directory } = storeOptions(options);
  const { site, sets, prefixes, parallel, ownOptions } = options;
  const wish = { site, ...(sets && { sets }), ...(prefixes && { prefixes }), ...(parallel && { parallel }) };
  const progress = onProgress ?? ignore;
  if (!hasDatabase(directory)) throw notConnected(site); // looking makes none
  const command = { directory, name: 'sync', request: wish, dialog: { progress }, signal, ownOptions } as const;
  return inReader(command, async () => {
    await using reader = await openReader(options);
    return await sync(reader, wish, progress, signal);
  });
}

export function syncInReader(
  reader: OpenReader,
  wish: ParallelWish,
  { progress }: { progress(progress: SyncProgress): Promise<void> },
  signal: AbortSignal,
): Promise<SyncSummary> {
  return sync(reader, wish, (now) => void progress(now).catch(ignore), signal);
}

type ParallelWish = SyncWish & Pick<SyncOptions, 'parallel'>;

async function sync(
  { sites, access, now }: OpenReader,
  wish: ParallelWish,
  onProgress: (progress: SyncProgress) => void,
  signal: AbortSignal | undefined,
): Promise<SyncSummary> {
  const { found, ...current } = await currentSite(sites, wish, signal);
  return new Sync({ access, ...current, now, signal }, { ...wish, onProgress }, found).run();
}

interface RefreshResult {
  readonly freshness: Freshness;
  readonly failedLook: FailureReason | undefined;
  readonly failedDescriptor: FailureReason | undefined;
}

async function currentSite(sites: BoundSites, { site }: SyncWish, signal: AbortSignal | undefined) {
  await sites.refresh();
  const bound = sites.find(site);
  if (bound === undefined) throw notConnected(site);
  await unlessEnded(bound.publication.recheck().catch(ignore), signal);
  const freshness = await unlessEnded(bound.publication.current(), signal);
  const { failure, followFailure } = bound.publication;
  const found: RefreshResult = { freshness, failedLook: reasonOf(failure), failedDescriptor: reasonOf(followFailure) };
  await bound.descriptor.ensure();
  await sites.refresh();
  const now = sites.find(site);
  if (now?.description === undefined)
    throw new ReaderError('site-withdrawn', `the descriptor does not name ${site} any more`);
  return { found, bound: now, description: now.description };
}

/** @throws unforeseen errors, as they are */
function reasonOf(failure: unknown): FailureReason | undefined {
  if (failure === undefined) return undefined;
  if (!(failure instanceof CodedError)) throw failure;
  return { code: failure.code, message: failure.message };
}

/** A look may take a minute, and goes on by itself. @throws the signal's reason */
async function unlessEnded<Result>(work: Result | Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return work;
  signal.throwIfAborted();
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const end = () => reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([ended, work]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

class Sync {
  readonly #context: SyncContext;
  readonly #options: ParallelWish;
  readonly #found: RefreshResult;
  readonly #parallel: number;
  readonly #onProgress: (progress: SyncProgress) => void;
  #progress: SyncProgress = { step: 'listing', documents: 0, ofDocuments: 0, bytes: 0, ofBytes: 0 };
  #reportedAt = Number.NEGATIVE_INFINITY;
  /** Bytes of what was here already, and of what is missing, by document. */
  readonly #kept = new Map<WantedDocument, number>();
  readonly #missing = new Map<WantedDocument, number>();
  readonly #fetched = new Map<WantedDocument, number>();
  readonly #failed: FailedDocument[] = [];

  constructor(context: SyncContext, options: ParallelWish & Pick<SyncOptions, 'onProgress'>, found: RefreshResult) {
    this.#context = context;
    this.#options = options;
    this.#found = found;
    this.#parallel = Math.max(1, options.parallel ?? LIMITS.syncAtOnce);
    this.#onProgress = options.onProgress ?? ignore;
  }

  async run(): Promise<SyncSummary> {
    const { access, bound, now } = this.#context;
    if (access.cache.mostForSyncs === 0)
      throw new ReaderError(
        'cache-too-small',
        `the size of the cache ${access.cache.directory} is 0, so nothing is kept`,
      );
    this.#begin('listing');
    const listing = await listWanted(bound, this.#options, now());
    await this.#measure(listing.documents);
    await this.#makeRoom(listing);
    await this.#fetch();
    return this.#summary(listing);
  }

  #begin(step: SyncProgress['step'], progress: Partial<SyncProgress> = {}): void {
    this.#progress = { documents: 0, ofDocuments: 0, bytes: 0, ofBytes: 0, ...progress, step };
    this.#report();
  }

  /** Counts one more document. The first and the last are always told of, not all others: there may be thousands a second. */
  #add(bytes = 0): void {
    const { documents, ofDocuments, bytes: before } = this.#progress;
    this.#progress = { ...this.#progress, documents: documents + 1, bytes: before + bytes };
    if (documents === 0 || documents + 1 === ofDocuments || performance.now() - this.#reportedAt > PROGRESS_INTERVAL)
      this.#report();
  }

  #report(): void {
    this.#reportedAt = performance.now();
    this.#onProgress(this.#progress);
  }

  async #measure(documents: readonly WantedDocument[]): Promise<void> {
    this.#begin('measuring', { ofDocuments: documents.length });
    const { cache } = this.#context.access;
    await this.#each(documents, async (document) => {
      const kept = await lengthIfKept(cache, document);
      if (kept === undefined) this.#missing.set(document, await measure(document, this.#context));
      else this.#kept.set(document, kept);
      this.#add(kept);
    });
  }

  /** @throws ReaderError `cache-too-small`, before anything has changed */
  async #makeRoom({ named }: Listing): Promise<void> {
    const { access, bound } = this.#context;
    const { cache } = access;
    const heads = (documents: Iterable<WantedDocument>) => Array.from(documents, ({ entry }) => entry.head);
    const wanted = new Set([...heads(this.#kept.keys()), ...heads(this.#missing.keys())]);
    const before = Array.from(await cache.syncedOf(bound.site)).filter((head) => named.has(head) && !wanted.has(head));
    const missing = spaceOfAll(this.#missing.values());
    const earlier = (await cache.spaceOfAll(bound.site, before)) + (await cache.syncedBeside(bound.site));
    const bySyncs = spaceOfAll(this.#kept.values()) + earlier;
    // Objects that are here already stay, also where an earlier sync was given more room than there is now.
    if (missing > 0 && missing + bySyncs > cache.mostForSyncs) throw cacheTooSmall(missing, bySyncs, cache);
    const free = await freeBytes(cache.directory);
    if (missing > free) {
      const left = `the disk of ${cache.directory} has ${size(free)} left`;
      throw new ReaderError('disk-full', `the disk is full: ${size(missing)} are to be fetched, and ${left}`);
    }
    await cache.keepSynced(bound.site, [...before, ...wanted]).catch((error: Error) => {
      throw new ReaderError('output-failed', `${cache.directory} keeps nothing: ${systemReason(error)}`, {
        cause: error,
      });
    });
    await cache.makeRoom(missing);
  }

  async #fetch(): Promise<void> {
    const [kept, missing] = [sum(this.#kept.values()), sum(this.#missing.values())];
    this.#begin('fetching', {
      documents: this.#kept.size,
      ofDocuments: this.#kept.size + this.#missing.size,
      bytes: kept,
      ofBytes: kept + missing,
    });
    await this.#each(this.#missing.keys(), async (document) => {
      const bytes = await fetchWhole(document, this.#context);
      this.#fetched.set(document, bytes);
      this.#add(bytes);
    });
  }

  /** Works on each document. A failure with one is its own matter, unless it will come with all. */
  #each(documents: Iterable<WantedDocument>, work: (document: WantedDocument) => Promise<void>): Promise<void> {
    return forEachInFlight(documents, this.#parallel, async (document) => {
      try {
        await work(document);
      } catch (error) {
        const own = error instanceof CodedError && !['output-failed', 'disk-full'].includes(error.code);
        if (!own) throw error;
        this.#failed.push({ path: document.path, code: error.code, message: error.message });
      }
    });
  }

  #summary({ failed, refused, withoutKey, keysUntil }: Listing): SyncSummary {
    const count = (all: ReadonlyMap<unknown, number>) => ({ documents: all.size, bytes: sum(all.values()) });
    const { failedLook, failedDescriptor, freshness } = this.#found;
    const { version, confirmed, shownUntil } = freshness;
    return {
      site: this.#context.bound.site,
      version,
      confirmed,
      ...(failedLook && { failedLook }),
      ...(failedDescriptor && { failedDescriptor }),
      readableUntil: Math.min(shownUntil, keysUntil),
      here: count(new Map([...this.#fetched, ...this.#kept])),
      fetched: count(this.#fetched),
      alreadyThere: count(this.#kept),
      refused,
      withoutKey,
      failed: [...failed, ...this.#failed],
    };
  }
}

async function freeBytes(directory: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY; // the write reports it
  }
}

function cacheTooSmall(missing: number, bySyncs: number, { directory, mostForSyncs }: ObjectCache): ReaderError {
  const taken = bySyncs > 0 ? `, of which ${size(bySyncs)} are taken already` : '';
  const most = Math.ceil((missing + bySyncs) / LIMITS.cacheFilledTo / MEGABYTE);
  const room = `synced sites may have ${size(mostForSyncs)} of the cache ${directory}${taken}`;
  const fields = { size: `${most}M` };
  return new ReaderError('cache-too-small', `${size(missing)} are to be fetched, and ${room}`, { fields });
}

function sum(lengths: Iterable<number>): number {
  return Array.from(lengths).reduce((total, length) => total + length, 0);
}

function spaceOfAll(lengths: Iterable<number>): number {
  return sum(Array.from(lengths, spaceOf));
}
