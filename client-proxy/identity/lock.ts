/** Locking and unlocking a Reader that runs. */
import type { BoundSites } from '../bound-sites.ts';
import type { RunMemory } from '../opening/run-memory.ts';
import type { ReaderStore } from '../store/store.ts';
import { Attempts } from './attempts.ts';

/**
 * The lock of a running Reader. Locked, it holds no key: neither the one of its database nor those of devices and sets; what is being
 * delivered is delivered to its end.
 */
export class ReaderLock {
  readonly #store: ReaderStore;
  readonly #sites: BoundSites;
  readonly #attempts = new Attempts();

  /** @param memory - holds what was read lately */
  constructor(store: ReaderStore, sites: BoundSites, memory: RunMemory) {
    this.#store = store;
    this.#sites = sites;
    memory.keepWhile(() => !store.isLocked);
    store.whenLocked(() => {
      memory.wipe();
      sites.lock();
    });
  }

  get isLocked(): boolean {
    return this.#store.isLocked;
  }

  /** Whether there is nothing to lock: everything was forgotten while this Reader ran. */
  get isEmpty(): boolean {
    return this.#store.keyPlace === undefined;
  }

  /** Whether unlocking takes a passphrase: else the key is fetched from where it is. */
  get needsPassphrase(): boolean {
    return this.#store.keyPlace === 'passphrase';
  }

  async lock(): Promise<void> {
    this.#store.lock();
  }

  /**
   * However long it takes, or has to wait: where the Reader is locked meanwhile, it stays locked.
   *
   * @throws ReaderError `passphrase-wrong`, `unlock-too-often`, `reader-locked`, and others of the store
   */
  unlock(passphrase?: string): Promise<void> {
    const asked = this.#store.locks;
    return this.#attempts.make(async () => {
      await this.#store.unlock(passphrase, asked);
      await this.#sites.refresh();
    });
  }
}
