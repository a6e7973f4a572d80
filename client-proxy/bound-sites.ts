/** The sites that this reader is connected with, as the store has them now: another process may add one at any time. */
import type { SiteDescription } from '../core/keys/descriptor.ts';
import type { Upstream } from './content/upstream.ts';
import { RememberedDocuments } from './documents/remembered-documents.ts';
import { DescriptorKeeper } from './keys/descriptor-keeper.ts';
import { KeyFinder } from './keys/key-finder.ts';
import { PublicationKeeper } from './publication/publication-keeper.ts';
import { ReaderSiteSource, type SiteHosts } from './publication/site-source.ts';
import type { ReaderStore, StoredBinding } from './store/store.ts';

/** One connected site, and everything that reading it needs. */
export interface BoundSite {
  readonly site: string;
  readonly label: string;
  readonly publisherName: string;
  readonly publisherKey: Uint8Array;
  /** What the publisher says of the site; left out where its descriptor does not name the site any more. */
  readonly description: SiteDescription | undefined;
  readonly keys: KeyFinder;
  readonly descriptor: DescriptorKeeper;
  readonly publication: PublicationKeeper;
  /** Opened documents, for ranges. */
  readonly remembered: RememberedDocuments;
}

interface KeptPublication {
  readonly keeper: PublicationKeeper;
  readonly source: ReaderSiteSource;
  /** Of the binding as it was last read. */
  descriptor: DescriptorKeeper | undefined;
}

export class BoundSites {
  readonly #store: ReaderStore;
  readonly #upstream: Upstream;
  readonly #now: () => number;
  #version = '';
  #reading: Promise<void> | undefined;
  /** Outlive the reading of the store: what they hold was verified at some cost. By binding and site. */
  #publications: ReadonlyMap<string, KeptPublication> = new Map();
  #bySite: ReadonlyMap<string, BoundSite> = new Map();
  #byLabel: ReadonlyMap<string, BoundSite> = new Map();

  /** @param now - seconds since 1970 */
  constructor(store: ReaderStore, upstream: Upstream, now: () => number) {
    this.#store = store;
    this.#upstream = upstream;
    this.#now = now;
  }

  /** Waits only where the store has changed since it was last read; called at every request. */
  refresh(): Promise<void> | undefined {
    if (this.#store.version() === this.#version) return undefined;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  all(): BoundSite[] {
    return [...this.#bySite.values()];
  }

  /** @param site - a host name in lower case, without final dot */
  find(site: string): BoundSite | undefined {
    return this.#bySite.get(site);
  }

  findLabel(label: string): BoundSite | undefined {
    return this.#byLabel.get(label);
  }

  async #read(): Promise<void> {
    const version = this.#store.version();
    const kept = new Map<string, KeptPublication>();
    const sites = (await this.#store.bindings()).flatMap((binding) => this.#sitesOf(binding, kept));
    this.#publications = kept;
    this.#bySite = new Map(sites.map((site) => [site.site, site]));
    this.#byLabel = new Map(sites.map((site) => [site.label, site]));
    this.#version = version;
  }

  #sitesOf(binding: StoredBinding, kept: Map<string, KeptPublication>): BoundSite[] {
    const { descriptor } = binding;
    const keys = new KeyFinder(binding, this.#store, this.#upstream.keyServers);
    const keeper = new DescriptorKeeper(binding, this.#store, this.#upstream.keyServers);
    return binding.sites.map(({ site, label }) => {
      const description = descriptor.sites.find((one) => one.site === site);
      const hosts = { keyServer: descriptor.keyServer, content: description?.content ?? [] };
      const name = `${binding.id} ${descriptor.publisher} ${site}`;
      const publication = this.#publications.get(name) ?? this.#keep(site, descriptor.publisher, hosts);
      publication.source.hosts = hosts;
      publication.descriptor = keeper;
      kept.set(name, publication);
      return {
        site,
        label,
        publisherName: descriptor.name,
        publisherKey: descriptor.publisherKeyBytes,
        description,
        keys,
        descriptor: keeper,
        publication: publication.keeper,
        remembered: new RememberedDocuments(),
      };
    });
  }

  #keep(site: string, rootId: string, hosts: SiteHosts): KeptPublication {
    const store = this.#store.publicationOf(site);
    const source = new ReaderSiteSource(this.#upstream, hosts, () => store.firstRoot());
    const kept: KeptPublication = {
      source,
      descriptor: undefined,
      keeper: new PublicationKeeper({
        rootId,
        source,
        store,
        now: this.#now,
        follow: async (publication) => kept.descriptor?.follow(publication),
      }),
    };
    return kept;
  }
}
