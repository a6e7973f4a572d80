/**
 * The publication that is read at this origin. What is kept of it in the browser, published scripts can write: so the state is verified as it is
 * read, and nothing is shown that is older than the vault has seen.
 */
import { hexDigest } from '../../core/encoding/digest.ts';
import { verifyDescriptor } from '../../core/keys/descriptor.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import type { PublicationPair } from '../../core/publication/pair.ts';
import type { PastPublication } from '../../core/publication/site-publication.ts';
import { isBelow, PublicationKeeper } from '../../reading/publication-keeper.ts';
import { READING_TIMES } from '../../reading/times.ts';
import { type OriginStore, STATE } from '../store.ts';
import { metadataIn } from './kept-metadata.ts';
import { scope } from './scope.ts';
import { createSource } from './source.ts';

export interface PublisherIdentity {
  readonly name: string;
  readonly key: Uint8Array;
}

export class BrowserPublication extends PublicationKeeper {
  readonly #store: OriginStore;
  #publisher: (PublisherIdentity & { readonly hash: string }) | undefined;

  /** @param hosts - origins of the content hosts, as they are known now */
  constructor(store: OriginStore, hosts: () => Promise<readonly string[]>) {
    const { root } = scope.wisprSite;
    const { state } = store;
    super({
      rootId: root,
      source: createSource(hosts),
      store: metadataIn(store, root),
      isStoreOpen: true,
      times: READING_TIMES,
      now: nowInSeconds,
      // A worker seldom lives as long as a minute.
      checkTime: {
        read: async () => Number(await state.get(STATE.checked)),
        write: (time) => state.put(STATE.checked, time),
      },
      newestSeen: () => newestSeen(store),
    });
    this.#store = store;
  }

  /**
   * Finds who signs objects, by the descriptor that the publication names (D6).
   *
   * @param onlyStored - whether to fetch nothing
   * @throws KeyError `descriptor-malformed`; PublicationError
   */
  async publisher(onlyStored = false): Promise<PublisherIdentity> {
    const hash = this.publication.descriptorHash() ?? '';
    if (this.#publisher?.hash === hash) return this.#publisher;
    const bytes = await this.#descriptor(hash, onlyStored);
    const { root, name, sites, publisherKeyBytes } = await verifyDescriptor(bytes, 0);
    const { wisprSite } = scope;
    if (root !== wisprSite.root || !sites.some(({ site }) => site === wisprSite.site))
      throw new PublicationError('metadata-mismatch', 'the publication names the descriptor of another publisher');
    this.#publisher = { hash, name, key: publisherKeyBytes };
    return this.#publisher;
  }

  /** The publication as it was last, where it permits that what is kept here is still shown. */
  async past(): Promise<PastPublication | undefined> {
    const past = await this.publication.asOf(nowInSeconds());
    const seen = await newestSeen(this.#store);
    return past && seen && isBelow(past.freshness, seen) ? undefined : past;
  }

  async #descriptor(hash: string, onlyStored: boolean): Promise<Uint8Array> {
    const { state } = this.#store;
    const stored = await state.get(STATE.descriptor);
    if (stored instanceof Uint8Array && (await hexDigest(stored)) === hash) return stored;
    if (onlyStored) throw new PublicationError('metadata-missing', 'the descriptor was not read yet');
    const bytes = await this.publication.descriptor();
    await state.put(STATE.descriptor, bytes);
    return bytes;
  }
}

/** Seconds since 1970. */
export function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

async function newestSeen({ state }: OriginStore): Promise<PublicationPair | undefined> {
  const pair = (await state.get(STATE.pair)) as Partial<PublicationPair> | undefined;
  return Number.isSafeInteger(pair?.snapshot) && Number.isSafeInteger(pair?.timestamp)
    ? (pair as PublicationPair)
    : undefined;
}
