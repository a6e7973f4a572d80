/**
 * Keeps the publication current, by the rules of the Reader: what is valid is used at once and looked after beside; a page waits only where
 * nothing may be shown, or where nothing was looked for in a while. What was trusted is kept over the life of a worker.
 */
import { hexDigest } from '../../core/encoding/digest.ts';
import { verifyDescriptor } from '../../core/keys/descriptor.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { comparePairs, type PublicationPair } from '../../core/publication/pair.ts';
import { type Freshness, type PastPublication, SitePublication } from '../../core/publication/site-publication.ts';
import { atMost } from '../../reading/at-most.ts';
import { STATE, type Store } from '../store.ts';
import { metadataIn } from './kept-metadata.ts';
import { scope } from './scope.ts';
import { HostsSource } from './source.ts';

/** Milliseconds: between two looks, after which a page waits for one, and for how long; and between two where nothing may be shown. */
const TIMES = { interval: 30_000, idle: 60_000, wait: 3_000, urgent: 1_000 } as const;

export interface Publisher {
  readonly name: string;
  readonly key: Uint8Array;
}

export class ReadPublication {
  readonly publication: SitePublication;
  readonly #store: Store;
  #looking: Promise<void> | undefined;
  /** By `Date.now`, for a worker seldom lives as long as a minute. */
  #lookedAt: number | undefined;
  #failure: unknown;
  #publisher: (Publisher & { readonly hash: string }) | undefined;

  /** @param hosts - origins of the content hosts, as they are known now */
  constructor(store: Store, hosts: () => Promise<readonly string[]>) {
    const { root } = scope.wisprSite;
    this.#store = store;
    this.publication = new SitePublication({
      rootId: root,
      source: new HostsSource(hosts),
      store: metadataIn(store, root),
      isStoreOpen: true,
    });
  }

  /**
   * The freshness of the publication to use now.
   *
   * @param newest - whether the reader asks for what is newest
   * @throws PublicationError, and the failure of a look, where none may be used
   */
  async current(newest = false): Promise<Freshness> {
    await this.publication.load();
    const usable = this.#usable();
    const since = await this.#sinceLook();
    if (usable === undefined) {
      if (since >= TIMES.urgent) await this.#look().catch(() => undefined);
    } else if (newest || usable.stale || since >= TIMES.idle) {
      if (since >= (newest ? TIMES.urgent : TIMES.interval)) await atMost(TIMES.wait, this.#look());
    } else if (since >= TIMES.interval) this.#look().catch(() => undefined);
    this.#throwFailure();
    const freshness = this.publication.freshness(nowInSeconds());
    await this.#checkPair(freshness);
    return freshness;
  }

  /** Looks for a newer publication because something is missing from this one. @returns whether there is one. @throws as {@link current} */
  async hasMovedOn(): Promise<boolean> {
    const before = this.publication.state?.snapshot;
    await this.current(true);
    return this.publication.state?.snapshot !== before;
  }

  /**
   * Who signs objects, by the descriptor that the publication names (D6).
   *
   * @param isAtHand - whether what is kept has to do: nothing is waited for
   * @throws KeyError `descriptor-malformed`; PublicationError
   */
  async publisher(isAtHand = false): Promise<Publisher> {
    const hash = this.publication.descriptorHash() ?? '';
    if (this.#publisher?.hash === hash) return this.#publisher;
    const { root, name, sites, publisherKeyBytes } = await verifyDescriptor(await this.#descriptor(hash, isAtHand), 0);
    const { wisprSite } = scope;
    if (root !== wisprSite.root || !sites.some(({ site }) => site === wisprSite.site))
      throw new PublicationError('metadata-mismatch', 'the publication names the descriptor of another publisher');
    this.#publisher = { hash, name, key: publisherKeyBytes };
    return this.#publisher;
  }

  /** The publication as it was last, where it permits that what is kept here is still shown. */
  async past(): Promise<PastPublication | undefined> {
    const past = await this.publication.asOf(nowInSeconds());
    const known = await this.#store.state.get(STATE.pair);
    return past && isPair(known) && comparePairs(pairOf(past.freshness), known) < 0 ? undefined : past;
  }

  async #descriptor(hash: string, isAtHand: boolean): Promise<Uint8Array> {
    const kept = await this.#store.state.get(STATE.descriptor);
    if (kept instanceof Uint8Array && (await hexDigest(kept)) === hash) return kept;
    if (isAtHand) throw new PublicationError('metadata-missing', 'the descriptor was not read yet');
    const bytes = await this.publication.descriptor();
    await this.#store.state.put(STATE.descriptor, bytes);
    return bytes;
  }

  #usable(): Freshness | undefined {
    try {
      return this.publication.freshness(nowInSeconds());
    } catch (error) {
      if (error instanceof PublicationError) return undefined;
      throw error;
    }
  }

  #look(): Promise<void> {
    this.#looking ??= this.publication
      .refresh(nowInSeconds())
      .then(
        () => {
          this.#failure = undefined;
        },
        (error: unknown) => {
          this.#failure = error;
          throw error;
        },
      )
      .finally(() => {
        this.#looking = undefined;
        this.#lookedAt = Date.now();
        return this.#store.state.put(STATE.checked, this.#lookedAt);
      });
    return this.#looking;
  }

  /** Milliseconds since the last look. A time that has not come yet was written by another clock, or by a page. */
  async #sinceLook(): Promise<number> {
    this.#lookedAt ??= Number((await this.#store.state.get(STATE.checked)) ?? 0);
    const since = Date.now() - this.#lookedAt;
    return since >= 0 ? since : Number.POSITIVE_INFINITY;
  }

  /** The failure of the last look, where that says more than the age of the publication. */
  #throwFailure(): void {
    const failure = this.#failure;
    if (failure === undefined || this.publication.isWithdrawn || this.#usable() !== undefined) return;
    const isTelling = failure instanceof PublicationError && failure.code === 'metadata-expired';
    if (this.publication.state === undefined || isTelling) throw failure;
  }

  /** Pages of this origin can take back what is kept here; what the vault knows they cannot. */
  async #checkPair(freshness: Freshness): Promise<void> {
    const known = await this.#store.state.get(STATE.pair);
    if (!isPair(known) || comparePairs(pairOf(freshness), known) >= 0) return;
    if ((await this.#sinceLook()) >= TIMES.urgent) await this.#look();
    const { timestamp, snapshot } = this.publication.state ?? {};
    const pair = { snapshot: snapshot?.version ?? 0, timestamp: timestamp?.version ?? 0 };
    if (comparePairs(pair, known) < 0)
      throw new PublicationError(
        'metadata-rollback',
        `the content hosts offer publication ${pair.snapshot}; ${known.snapshot} was seen`,
      );
  }
}

/** Seconds since 1970. */
export function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

function pairOf({ version, confirmed }: Freshness): PublicationPair {
  return { snapshot: version, timestamp: confirmed };
}

function isPair(value: unknown): value is PublicationPair {
  const { snapshot, timestamp } = (value ?? {}) as Partial<PublicationPair>;
  return Number.isSafeInteger(snapshot) && Number.isSafeInteger(timestamp);
}
