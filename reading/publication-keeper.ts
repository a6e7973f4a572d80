/**
 * Keeps the publication of one site current. What is valid is used at once, and refreshed in the background; a request waits only where
 * nothing may be shown, or where the publication is stale or was not checked for a while, and then not for long.
 */
import type { MetadataStore } from '../core/publication/client.ts';
import { PublicationError } from '../core/publication/errors.ts';
import { type Freshness, SitePublication } from '../core/publication/site-publication.ts';
import { atMost } from './at-most.ts';
import type { HostedSource } from './hosted-source.ts';

/** All in milliseconds. */
export interface KeeperTimes {
  /** Between two checks for a newer publication while the current one is valid; and the longest pause after failures. */
  readonly checkInterval: number;
  readonly checkIntervalMaximum: number;
  /** The same where nothing may be shown, and where the reader asks for a reload. */
  readonly checkIntervalUrgent: number;
  /** How long a request waits for a newer publication while the current one is stale or was not checked for a while. */
  readonly staleWait: number;
  /** One check, all its requests together. */
  readonly checkTimeout: number;
}

export interface KeeperOptions {
  readonly rootId: string;
  readonly source: Pick<HostedSource, keyof HostedSource>;
  readonly store: MetadataStore;
  readonly times: KeeperTimes;
  /** Seconds since 1970. */
  readonly now: () => number;
  /** Why nothing may be shown, such as a full disk that keeps something newer from being stored. Every request checks anew then. */
  readonly stopReason?: () => unknown;
  /** Called after a check that stored everything. */
  readonly resume?: () => void;
  /** Called after every successful check, for what depends on the publication. */
  readonly follow: (publication: SitePublication) => Promise<void>;
}

/** The state of a site's publication, for the Reader's own page. */
export type PublicationStatus =
  | { readonly kind: 'current' | 'stale'; readonly version: number; readonly confirmed: number }
  /** Nothing is shown, or nothing was read yet. */
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'unread' };

export class PublicationKeeper {
  readonly publication: SitePublication;
  readonly #options: KeeperOptions;
  #isLoaded = false;
  #checking: Promise<void> | undefined;
  /** Of the last check, by `performance.now`. */
  #checkedAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #failure: unknown;
  /** Why the last `follow` failed. */
  #followFailure: unknown;
  /** Whether the pending check has the newest publication, so that only `follow` is left. */
  #hasFound = false;
  /** The check that a request last waited for in vain. */
  #outwaited: Promise<void> | undefined;
  /** Hash of the descriptor that was followed last, or could not be fetched. */
  #followed: string | undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
    const { rootId, source, store } = options;
    this.publication = new SitePublication({ rootId, source, store });
  }

  /**
   * The freshness of the publication to use now.
   *
   * @param reload - whether the reader asks for what is newest
   * @throws PublicationError, and the failure of the check, where none may be used
   */
  async current(reload = false): Promise<Freshness> {
    const freshness = this.#isLoaded && !reload ? this.#usable() : undefined;
    if (freshness === undefined || freshness.stale || this.#isMoving || this.#isIdle || this.#isStopped)
      return this.#waitForCurrent(reload);
    if (this.#isDue(this.#interval)) this.check().catch(() => undefined);
    return freshness;
  }

  /**
   * Looks for a newer publication because something is missing from this one; not again within `checkIntervalUrgent`.
   *
   * @returns whether there is one, which is in use then
   * @throws as {@link current}
   */
  async hasMovedOn(): Promise<boolean> {
    const before = this.publication.state?.snapshot;
    await this.current(true);
    return this.publication.state?.snapshot !== before;
  }

  /** Checks for a newer publication now; one check at a time. @param newest - past caches on the way */
  check(newest = false): Promise<void> {
    this.#checking ??= this.#check(newest).finally(() => {
      this.#checking = undefined;
      this.#checkedAt = performance.now();
    });
    return this.#checking;
  }

  /** A look that begins only now: one that is under way may have begun before what is looked for. */
  async checkAnew(): Promise<void> {
    await this.#checking?.catch(() => undefined);
    return this.check(true);
  }

  /**
   * What the last look met, whether or not something that may be used is at hand; `undefined` where it found what is newest, also where what
   * follows from that could not be done.
   */
  get failure(): unknown {
    return this.#failure;
  }

  /** What kept that which follows from the publication from being done; `undefined` where it was done. Tried again with every look. */
  get followFailure(): unknown {
    return this.#followFailure;
  }

  /** Whether a check is pending that a request has already waited `staleWait` for. */
  get isSlow(): boolean {
    return this.#checking !== undefined && this.#checking === this.#outwaited && !this.#hasFound;
  }

  async status(): Promise<PublicationStatus> {
    try {
      await this.#load();
      const { state, isWithdrawn } = this.publication;
      if (state === undefined && !isWithdrawn) return { kind: 'unread' };
      const { stale, version, confirmed } = this.publication.freshness(this.#options.now());
      return { kind: stale ? 'stale' : 'current', version, confirmed };
    } catch (error) {
      return error instanceof PublicationError ? { kind: 'refused', code: error.code } : { kind: 'unread' };
    }
  }

  /** Between the two steps of a change, publication and descriptor do not belong together. */
  get #isMoving(): boolean {
    return this.#checking !== undefined && this.#followed !== this.publication.descriptorHash();
  }

  /** No request for a while: do not show first what was withdrawn or replaced in the meantime. */
  get #isIdle(): boolean {
    return this.#failures === 0 && this.#isDue(2 * this.#options.times.checkInterval);
  }

  #usable(): Freshness | undefined {
    try {
      return this.publication.freshness(this.#options.now());
    } catch (error) {
      if (error instanceof PublicationError) return undefined;
      throw error;
    }
  }

  async #waitForCurrent(reload: boolean): Promise<Freshness> {
    await this.#load();
    const { checkIntervalUrgent } = this.#options.times;
    const freshness = this.#usable();
    if (freshness === undefined) await this.#checkUnlessJustDone();
    else if (this.#isStopped) await this.check().catch(() => undefined);
    else if (this.#isMoving || this.#isDue(reload ? checkIntervalUrgent : this.#interval))
      await this.#waitFor(this.check(reload));
    this.#throwFailure();
    return this.publication.freshness(this.#options.now());
  }

  /** Waits, whatever the outcome, and for a limited time. */
  async #waitFor(look: Promise<void>): Promise<void> {
    if (await atMost(this.#options.times.staleWait, look)) this.#outwaited = look;
  }

  /** Throws the failure of the last check, where that says more than the age of the publication. */
  #throwFailure(): void {
    const failure = this.#failure;
    if (this.#isStopped) throw this.#options.stopReason?.();
    if (this.publication.isWithdrawn) return; // says more than any failure
    if (failure === undefined || (this.publication.state !== undefined && this.#usable() !== undefined)) return;
    const telling = failure instanceof PublicationError && failure.code === 'metadata-expired';
    if (this.publication.state === undefined || telling) throw failure;
  }

  /** Its failure is kept; whether it matters depends on what is valid. */
  async #checkUnlessJustDone(): Promise<void> {
    if (this.#checking || this.#isDue(this.#options.times.checkIntervalUrgent))
      await this.check().catch(() => undefined);
  }

  get #isStopped(): boolean {
    return this.#options.stopReason?.() !== undefined;
  }

  /** Reads the store, once. */
  async #load(): Promise<void> {
    if (this.#isLoaded) return;
    await this.publication.load();
    if (this.#isLoaded) return;
    this.#followed = this.publication.descriptorHash();
    this.#isLoaded = true;
  }

  async #check(newest: boolean): Promise<void> {
    const { source, times } = this.#options;
    this.#hasFound = false;
    try {
      await source.within(times.checkTimeout, () => this.#look(), newest);
    } catch (error) {
      if (!this.#hasFound) {
        this.#failures++;
        this.#failure = error;
      }
      throw error;
    }
  }

  async #look(): Promise<void> {
    await this.#load();
    await this.#refresh();
    this.#options.resume?.();
    this.#hasFound = true;
    this.#failures = 0;
    this.#failure = undefined;
    await this.#follow();
  }

  /** A failure here delays no request: the publication itself is current. */
  async #follow(): Promise<void> {
    try {
      if (!this.publication.isWithdrawn) await this.#options.follow(this.publication);
      this.#followFailure = undefined;
    } catch (error) {
      this.#followFailure = error;
      throw error;
    } finally {
      this.#followed = this.publication.descriptorHash();
    }
  }

  /** Invalid metadata may be one content host's fault alone: then the others are asked first, one after the other. */
  async #refresh(): Promise<void> {
    for (let turn = 1; ; turn++) {
      try {
        return await this.publication.refresh(this.#options.now());
      } catch (error) {
        if (!(error instanceof PublicationError) || !this.#options.source.passOver(turn)) throw error;
      }
    }
  }

  /** Until the next check: longer after each failure. */
  get #interval(): number {
    const { checkInterval, checkIntervalMaximum } = this.#options.times;
    return Math.min(checkIntervalMaximum, checkInterval * 2 ** Math.min(this.#failures, 10));
  }

  #isDue(interval: number): boolean {
    return performance.now() - this.#checkedAt >= interval;
  }
}
