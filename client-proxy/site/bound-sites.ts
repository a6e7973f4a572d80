/** The sites that this reader is connected with, as the store has them now. */
import type { SiteDescription, VerifiedDescriptor } from '../../core/keys/descriptor.ts';
import { FIRST_ROOT_FILE, METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { HostedSource } from '../../reading/hosted-source.ts';
import { PublicationKeeper } from '../../reading/publication-keeper.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { Upstream } from '../network/upstream.ts';
import { readerLocked } from '../store/errors.ts';
import type { ReaderStore } from '../store/store.ts';
import type { StoredBinding } from '../store/types.ts';
import { DescriptorKeeper } from './descriptor-keeper.ts';
import { ChangingFile, fetchFile, fetchFromKeyServer } from './fetch-file.ts';
import type { HostHealth } from './host-health.ts';
import { KeyFinder } from './key-finder.ts';
import { channelTo } from './key-server.ts';
import { RememberedDocuments } from './remembered-documents.ts';

export interface BoundSite {
  readonly site: string;
  readonly label: string;
  readonly publisherName: string;
  readonly publisherKey: Uint8Array;
  /** Description of the site by the publisher; left out where its descriptor does not name the site any more. */
  readonly description: SiteDescription | undefined;
  readonly keys: KeyFinder;
  readonly descriptor: DescriptorKeeper;
  readonly publication: PublicationKeeper;
  /** Tells whether it is time to tell readers that the publication is no longer fresh; if it is, it counts as said. */
  readonly isNoticeDue: () => boolean;
  readonly remembered: RememberedDocuments;
}

interface TrackedPublication {
  readonly keeper: PublicationKeeper;
  readonly isNoticeDue: () => boolean;
  /** Content hosts and keeper of the binding as it was last read. */
  content: readonly string[];
  descriptor: DescriptorKeeper | undefined;
}

export class BoundSites {
  readonly #store: ReaderStore;
  readonly #upstream: Upstream;
  readonly #health: HostHealth;
  readonly #now: () => number;
  #version: number | undefined;
  #reading: Promise<void> | undefined;
  /** Outlive the reading of the store: what they hold was verified at some cost. By binding and site. */
  #publications: ReadonlyMap<string, TrackedPublication> = new Map();
  #bySite: ReadonlyMap<string, BoundSite> = new Map();
  #byLabel: ReadonlyMap<string, BoundSite> = new Map();
  /** The sites that cannot be read until the Reader is unlocked, by their names and by their labels. */
  #locked: ReadonlyMap<string, string> = new Map();

  /** @param now - seconds since 1970 */
  constructor(store: ReaderStore, upstream: Upstream, health: HostHealth, now: () => number) {
    this.#store = store;
    this.#upstream = upstream;
    this.#health = health;
    this.#now = now;
  }

  /** Waits only where the store has changed since it was last read; called at every request. */
  async refresh(): Promise<void> {
    if (this.#store.version === this.#version) return;
    this.#reading ??= this.#read();
    await this.#reading;
  }

  /** Lets go of everything that has a key, and knows the names still: nothing of these sites may be passed through. Needs nothing of the store. */
  lock(): void {
    this.#locked = new Map([...this.#locked, ...this.all().flatMap(namesOf)]);
    this.#set([], new Map());
  }

  all(): BoundSite[] {
    return [...this.#bySite.values()];
  }

  /** Names of all connected sites, those included that cannot be read until the Reader is unlocked. */
  names(): string[] {
    return this.#store.isLocked ? this.#store.sites().map(({ site }) => site) : [...this.#bySite.keys()];
  }

  get isLocked(): boolean {
    return this.#store.isLocked;
  }

  /** Tells whether a site is connected, also where it cannot be read until the Reader is unlocked. @param site - as for {@link find} */
  has(site: string): boolean {
    return this.#locked.has(site) || this.#bySite.has(site);
  }

  /** @param site - a host name in lower case, without final dot @throws ReaderError `reader-locked` */
  find(site: string): BoundSite | undefined {
    if (this.#locked.has(site)) throw readerLocked();
    return this.#bySite.get(site);
  }

  /** @throws ReaderError `reader-locked` */
  findLabel(label: string): BoundSite | undefined {
    if (this.#locked.has(label)) throw readerLocked();
    return this.#byLabel.get(label);
  }

  /** The name of a connected site, also of one that cannot be read until the Reader is unlocked: for pages that say so. */
  nameOf(label: string): string | undefined {
    return this.#byLabel.get(label)?.site ?? this.#locked.get(label);
  }

  /** Callers that wait for it get what the store has when it is done. */
  async #read(): Promise<void> {
    try {
      do await this.#readOnce();
      while (this.#store.version !== this.#version);
    } finally {
      this.#reading = undefined;
    }
  }

  async #readOnce(): Promise<void> {
    const { version } = this.#store;
    const bindings = await this.#bindings();
    const isOpen = bindings !== undefined && !this.#store.isLocked; // the lock may have changed since a moment ago
    const kept = new Map<string, TrackedPublication>();
    this.#set(isOpen ? bindings.flatMap((binding) => this.#sitesOf(binding, kept)) : [], kept);
    // Requests for locked sites are not passed through to their hosts: they are the reader's own business.
    const locked = isOpen ? [] : this.#store.sites();
    this.#locked = new Map(locked.flatMap(namesOf));
    this.#version = version;
  }

  #set(sites: readonly BoundSite[], kept: ReadonlyMap<string, TrackedPublication>): void {
    this.#publications = kept;
    this.#bySite = new Map(sites.map((site) => [site.site, site]));
    this.#byLabel = new Map(sites.map((site) => [site.label, site]));
  }

  /** `undefined` while the keys are locked away, also where that shows only now. */
  async #bindings(): Promise<StoredBinding[] | undefined> {
    try {
      return this.#store.isLocked ? undefined : await this.#store.bindings();
    } catch (error) {
      if (error instanceof ReaderError && error.code === 'reader-locked') return undefined;
      throw error;
    }
  }

  #sitesOf(binding: StoredBinding, kept: Map<string, TrackedPublication>): BoundSite[] {
    const { descriptor } = binding;
    const keepers: PublicationKeeper[] = [];
    const keys = new KeyFinder({
      ...{ binding, store: this.#store, channel: channelTo(this.#upstream, descriptor) },
      publications: () => keepers.map(({ publication }) => publication),
    });
    const keeper = new DescriptorKeeper(binding, this.#store, this.#upstream.keyServers);
    return binding.sites.map(({ site, label }) => {
      const description = descriptor.sites.find((one) => one.site === site);
      const name = `${binding.id} ${descriptor.publisher} ${site}`;
      const publication = this.#publications.get(name) ?? this.#keep(site, descriptor);
      publication.content = description?.content ?? [];
      publication.descriptor = keeper;
      kept.set(name, publication);
      keepers.push(publication.keeper);
      return {
        site,
        label,
        publisherName: descriptor.name,
        publisherKey: descriptor.publisherKeyBytes,
        description,
        keys,
        descriptor: keeper,
        publication: publication.keeper,
        isNoticeDue: publication.isNoticeDue,
        remembered: new RememberedDocuments(),
      };
    });
  }

  #keep(site: string, { publisher, keyServer }: VerifiedDescriptor): TrackedPublication {
    const upstream = this.#upstream;
    const health = this.#health;
    const store = this.#store.publicationOf(site);
    const path = METADATA_PATH + TIMESTAMP_FILE;
    const timestamp = new ChangingFile();
    const source = new HostedSource({
      hosts: (wanted) => health.inOrder(kept.content, wanted === 'timestamp' ? 'slow' : undefined),
      fetch: async (origin, file) => {
        const wanted = { origin, ...file };
        try {
          return await (file.path === path ? timestamp.fetch(upstream, wanted) : fetchFile(upstream, wanted));
        } catch (error) {
          health.recordFailure(origin, error);
          throw error;
        }
      },
      onSlow: (origin) => health.record(origin, 'slow', 'slow'),
      own: (file) => (file === METADATA_PATH + FIRST_ROOT_FILE ? store.firstRoot() : undefined),
      keyServer: (file) => fetchFromKeyServer(upstream, keyServer, file),
      times: upstream.limits,
    });
    const keeper = new PublicationKeeper({
      rootId: publisher,
      source,
      store,
      times: upstream.limits,
      now: this.#now,
      follow: async (publication) => kept.descriptor?.follow(publication),
    });
    const kept: TrackedPublication = { keeper, content: [], descriptor: undefined, isNoticeDue: onceInAWhile() };
    return kept;
  }
}

function onceInAWhile(): () => boolean {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - last < LIMITS.noticeInterval) return false;
    last = performance.now();
    return true;
  };
}

/** Lists what a site is asked for by, each with its name. */
function namesOf({ site, label }: Pick<BoundSite, 'site' | 'label'>): [string, string][] {
  return [site, label].map((name) => [name, site]);
}
