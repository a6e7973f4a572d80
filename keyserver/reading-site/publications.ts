/**
 * The publication of the site that is read here, as a reader has it: the key server's own word on roots and timestamp counts no more than that
 * of a content host, but comes first. Kept in memory; a new start fetches it again.
 */
import { LRUCache } from 'lru-cache';
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import type { MetadataStore } from '../../core/publication/client.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import type { SiteSettings } from '../../core/publication/settings.ts';
import { HostedSource } from '../../reading/hosted-source.ts';
import { PublicationKeeper } from '../../reading/publication-keeper.ts';
import { READING_TIMES } from '../../reading/times.ts';
import type { Provider, SiteHere } from '../publication/provider.ts';
import { readMetadata, readPublication } from '../publication/stored.ts';
import type { KeyServerState } from '../storage/state.ts';
import { type BundledPublication, PublicationBundle } from './bundle.ts';
import type { ContentHosts } from './content-host.ts';

/** Bytes of metadata that are cached besides what the client has parsed. */
const CACHED_BYTES = 67_108_864;
const ROOT_FILE = /\.root\.json$/;

interface CachedPublication extends BundledPublication {
  readonly name: string;
  site: SiteDescription;
}

export class ReadPublications {
  readonly #state: KeyServerState;
  readonly #hosts: ContentHosts;
  readonly #bundle: PublicationBundle;
  #cached: CachedPublication | undefined;

  constructor(state: KeyServerState, hosts: ContentHosts) {
    this.#state = state;
    this.#hosts = hosts;
    this.#bundle = new PublicationBundle(state);
  }

  /** @param site - as the provider's descriptor describes it now */
  of(provider: Provider, site: SiteDescription): PublicationKeeper {
    return this.#cachedOf(provider, site).keeper;
  }

  /** Gives all of it that is small, in one: see bundle.ts. */
  bundleOf(provider: Provider, site: SiteDescription): Promise<Buffer> {
    return this.#bundle.read(provider, this.#cachedOf(provider, site));
  }

  /** The settings at hand: of the publication, or, before it was read, of the last bundle; then they are on their way for the next page. */
  settingsOf(provider: Provider, site: SiteDescription): SiteSettings {
    const keeper = this.of(provider, site);
    if (keeper.publication.state !== undefined) return keeper.publication.settings;
    keeper.current().catch(() => undefined);
    return provider.settings ?? keeper.publication.settings;
  }

  /**
   * Finds the document at an address; `undefined` where there is none.
   *
   * @param to - path and query
   * @param isAtHand - takes the publication at hand, and waits for no content host
   * @throws PublicationError where none may be used
   */
  async documentAt(here: SiteHere, to: string, isAtHand = false) {
    const keeper = this.of(here.provider, here.site);
    if (!isAtHand) await keeper.current();
    const found = await keeper.publication.resolve(to, this.#state.now());
    return found.kind === 'document' ? { ...here, path: found.path, entry: found.entry } : undefined;
  }

  /** Looks for a newer publication now. */
  async check(): Promise<void> {
    await this.#cached?.keeper.recheck();
  }

  /** Looks for the publication that the key server confirms, where an older one is at hand: no page has to be asked for first. */
  async follow(): Promise<void> {
    const keeper = this.#cached?.keeper;
    const confirmed = keeper && (await readPublication(this.#state.database));
    const here = keeper?.publication.state?.snapshot.version ?? 0;
    if (confirmed && confirmed.snapshotVersion > here) await keeper.recheck();
  }

  #cachedOf({ publisher }: Provider, site: SiteDescription): CachedPublication {
    const name = `${publisher} ${site.site}`;
    if (this.#cached?.name !== name) this.#cached = { name, site, ...this.#open(publisher) };
    this.#cached.site = site;
    return this.#cached;
  }

  #open(rootId: string): BundledPublication {
    const { database, now } = this.#state;
    const stored = (path: string) => readMetadata(database, path.slice(METADATA_PATH.length));
    const source = new HostedSource({
      hosts: () => (this.#cached ? this.#hosts.targetsOf(this.#cached.site) : []),
      fetch: this.#hosts.fetchFile,
      own: (path) => (ROOT_FILE.test(path) ? stored(path) : undefined),
      keyServer: ({ path }) => stored(path),
      times: READING_TIMES,
    });
    const store = createMemoryStore();
    return { store, keeper: new PublicationKeeper({ rootId, source, store, times: READING_TIMES, now }) };
  }
}

function createMemoryStore(): MetadataStore {
  const sizeCalculation = ({ length }: Uint8Array) => Math.max(1, length);
  const files = new LRUCache<string, Uint8Array>({ maxSize: CACHED_BYTES, sizeCalculation });
  return { read: async (name) => files.get(name), write: async (name, bytes) => void files.set(name, bytes) };
}
