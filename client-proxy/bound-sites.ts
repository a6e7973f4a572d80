/** The sites that this reader is connected with, as the store has them now: another process may add one at any time. */
import type { SiteDescription } from '../core/keys/descriptor.ts';
import type { Upstream } from './content/upstream.ts';
import { RememberedDocuments } from './documents/remembered-documents.ts';
import { DescriptorKeeper } from './keys/descriptor-keeper.ts';
import { KeyFinder } from './keys/key-finder.ts';
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
  /** Opened documents, for ranges. */
  readonly remembered: RememberedDocuments;
}

export class BoundSites {
  readonly #store: ReaderStore;
  readonly #upstream: Upstream;
  #version = '';
  #reading: Promise<void> | undefined;
  #bySite: ReadonlyMap<string, BoundSite> = new Map();
  #byLabel: ReadonlyMap<string, BoundSite> = new Map();

  constructor(store: ReaderStore, upstream: Upstream) {
    this.#store = store;
    this.#upstream = upstream;
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
    const sites = (await this.#store.bindings()).flatMap((binding) => this.#sitesOf(binding));
    this.#bySite = new Map(sites.map((site) => [site.site, site]));
    this.#byLabel = new Map(sites.map((site) => [site.label, site]));
    this.#version = version;
  }

  #sitesOf(binding: StoredBinding): BoundSite[] {
    const { descriptor } = binding;
    const keys = new KeyFinder(binding, this.#store, this.#upstream.keyServers);
    const keeper = new DescriptorKeeper(binding, this.#store, this.#upstream.keyServers);
    return binding.sites.map(({ site, label }) => ({
      site,
      label,
      publisherName: descriptor.name,
      publisherKey: descriptor.publisherKeyBytes,
      description: descriptor.sites.find((description) => description.site === site),
      keys,
      descriptor: keeper,
      remembered: new RememberedDocuments(),
    }));
  }
}
