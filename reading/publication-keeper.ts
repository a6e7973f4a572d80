/**
 * Keeps the publication of one site current. What may be shown is shown at once, and checked in the background. A request waits for the check, but
 * not for long, where the reader reloads, where the publication is stale or was not checked for a while, and while its descriptor is being
 * replaced. Where nothing may be shown, it waits for all of the check.
 */
import type { MetadataStore } from '../core/publication/client.ts';
import { PublicationError } from '../core/publication/errors.ts';
import { comparePairs, type PublicationPair } from '../core/publication/pair.ts';
import {
  type Freshness,
  SitePublication,
  type SitePublicationOptions,
  type SiteSource,
} from '../core/publication/site-publication.ts';
import { atMost } from './at-most.ts';
import type { HostedSource } from './hosted-source.ts';
import type { ReadingTimes } from './times.ts';

export interface KeeperStore extends MetadataStore {
  /** Reason why something newer could not be stored, such as a full disk: nothing is shown, and every request checks again. */
  readonly failure?: unknown;
  /** Called after a check that stored everything. */
  clearFailure?(): void;
}

/** Time of the last check, in milliseconds since 1970, where that outlives the keeper. */
export interface StoredCheckTime {
  read(): Promise<number>;
  write(time: number): Promise<void>;
}

export interface KeeperOptions extends SitePublicationOptions {
  readonly source: SiteSource & Pick<HostedSource, 'check'>;
  readonly store: KeeperStore;
  readonly times: ReadingTimes;
  /** Seconds since 1970. */
  readonly now: () => number;
  readonly checkTime?: StoredCheckTime;
  /** The greatest publication that is known from elsewhere: nothing below it is shown. */
  readonly newestSeen?: () => Promise<PublicationPair | undefined>;
  /** Called after every successful check, for what depends on the publication. */
  readonly follow?: (publication: SitePublication) => Promise<void>;
}

export class PublicationKeeper {
  readonly publication: SitePublication;
  readonly #options: KeeperOptions;
  #checkedAt: number | undefined;
  #failures = 0;
  #failure: unknown;
  #followFailure: unknown;
  #checking: Promise<void> | undefined;
  /** Descriptor's hash before the check that is under way. */
  #before: string | undefined;
  /** Tells whether that check has read the newest publication, so that only `follow` is left of it. */
  #hasNewest = false;
  /** Tells whether a request has waited for that check in vain. */
  #isLate = false;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.publication = new SitePublication(options);
  }

  /**
   * The freshness of the publication to use now.
   *
   * @param newest - whether the reader asks for what is newest
   * @param beside - called where it waits for a check, while something may be shown
   * @throws PublicationError, and the failure of the check, where none may be used
   */
  async current(newest = false, beside?: () => void): Promise<Freshness> {
    await this.publication.load();
    const { store, times } = this.#options;
    const shown = await this.#judge().catch(() => undefined);
    const since = await this.#sinceCheck();
    if (shown === undefined) {
      const isDue = this.#checking || store.failure !== undefined || since >= times.checkIntervalUrgent;
      if (isDue) await this.check().catch(() => undefined);
    } else {
      const isDue = since >= (newest ? times.checkIntervalUrgent : this.#interval);
      // Requests have not come for a while: what was withdrawn or replaced in the meantime is not shown first.
      const isIdle = this.#failures === 0 && since >= 2 * times.checkInterval;
      const check = isDue || this.#isMoving ? this.check(newest).catch(() => undefined) : undefined;
      if (!(newest || shown.stale || isIdle || this.#isMoving)) return shown;
      beside?.();
      if (check && (await atMost(times.staleWait, check))) this.#isLate = true;
    }
    return this.#judge().catch((error: unknown) => {
      throw this.#reasonFor(error);
    });
  }

  /** Checks because something is missing; not again within `checkIntervalUrgent`. @returns whether a newer one is in use */
  async hasMovedOn(): Promise<boolean> {
    const before = this.publication.state?.snapshot;
    await this.current(true);
    return this.publication.state?.snapshot !== before;
  }

  /** Checks for a newer publication now; one check at a time. @param newest - past caches on the way */
  check(newest = false): Promise<void> {
    this.#checking ??= this.#check(newest).finally(async () => {
      this.#checking = undefined;
      this.#checkedAt = Date.now();
      await this.#options.checkTime?.write(this.#checkedAt);
    });
    return this.#checking;
  }

  /** A check that begins only now: one that is under way may have begun before what is looked for. */
  async recheck(): Promise<void> {
    await this.#checking?.catch(() => undefined);
    return this.check(true);
  }

  /** Failure of the last check, whether or not something may be shown; `undefined` where it found what is newest, even if `follow` failed then. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Failure of the last `follow`, which every check tries again. */
  get followFailure(): unknown {
    return this.#followFailure;
  }

  /** Tells whether a check is under way that a request has already waited `staleWait` for. */
  get isSlow(): boolean {
    return this.#checking !== undefined && this.#isLate && !this.#hasNewest;
  }

  /** Tells whether a change is between its two steps: publication and descriptor do not belong together then. */
  get #isMoving(): boolean {
    return this.#checking !== undefined && this.#before !== this.publication.descriptorHash();
  }

  /** @throws why nothing may be shown */
  async #judge(): Promise<Freshness> {
    const { store, now, newestSeen } = this.#options;
    if (store.failure !== undefined) throw store.failure;
    const freshness = this.publication.freshness(now());
    const seen = await newestSeen?.();
    if (seen && isBelow(freshness, seen))
      throw new PublicationError(
        'metadata-rollback',
        `the content hosts offer publication ${freshness.version}; ${seen.snapshot} was seen`,
      );
    return freshness;
  }

  /** The failure of the last check, where that says more than what keeps the publication from being shown. */
  #reasonFor(error: unknown): unknown {
    const failure = this.#failure;
    if (failure === undefined || !(error instanceof PublicationError)) return error;
    if (error.code === 'metadata-missing' || error.code === 'metadata-rollback') return failure;
    const hasExpired = failure instanceof PublicationError && failure.code === 'metadata-expired';
    return hasExpired && error.code !== 'publication-withdrawn' ? failure : error;
  }

  async #check(newest: boolean): Promise<void> {
    const { source, store, now } = this.#options;
    const { publication } = this;
    this.#before = publication.descriptorHash();
    this.#hasNewest = this.#isLate = false;
    try {
      await source.check(async () => {
        await publication.load();
        this.#before = publication.descriptorHash();
        await publication.refresh(now());
      }, newest);
    } catch (error) {
      this.#failures++;
      this.#failure = error;
      throw error;
    }
    store.clearFailure?.();
    this.#hasNewest = true;
    this.#failures = 0;
    this.#failure = undefined;
    await this.#follow();
  }

  /** A failure here delays no request: the publication itself is current. */
  async #follow(): Promise<void> {
    this.#followFailure = undefined;
    try {
      if (!this.publication.isWithdrawn) await this.#options.follow?.(this.publication);
    } catch (error) {
      this.#followFailure = error;
      throw error;
    }
  }

  /** Milliseconds until the next check: more after each failure. */
  get #interval(): number {
    const { checkInterval, checkIntervalMaximum } = this.#options.times;
    return Math.min(checkIntervalMaximum, checkInterval * 2 ** Math.min(this.#failures, 10));
  }

  /** Milliseconds since the last check. A time that has not come yet is of no use: a clock was set back, or another program wrote it. */
  async #sinceCheck(): Promise<number> {
    this.#checkedAt ??= (await this.#options.checkTime?.read()) || 0;
    if (this.#checkedAt > Date.now()) this.#checkedAt = 0;
    return Date.now() - this.#checkedAt;
  }
}

/** Tells whether a publication comes before another in their order. */
export function isBelow({ version, confirmed }: Freshness, pair: PublicationPair): boolean {
  return comparePairs({ snapshot: version, timestamp: confirmed }, pair) < 0;
}
