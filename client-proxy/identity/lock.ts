/** Locking and unlocking a Reader that runs. */
import type { RunMemory } from '../documents/opening/run-memory.ts';
import { ReaderError } from '../errors.ts';
import type { BoundSites } from '../site/bound-sites.ts';
import type { KeyLocation } from '../store/protection.ts';
import type { ReaderStore } from '../store/store.ts';
import { Attempts } from './attempts.ts';

/** The lock of a running Reader. Locked, it holds no key at all; deliveries go on to their end. */
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

  /** Place of the key of the database; `undefined` where everything was forgotten. */
  get keysIn(): KeyLocation['kind'] | undefined {
    return this.#store.keyLocation?.kind;
  }

  /** Tells whether there is nothing to lock: everything was forgotten while this Reader ran. */
  get isEmpty(): boolean {
    return this.keysIn === undefined;
  }

  /** Tells whether unlocking takes a passphrase: else the key is fetched from where it is. */
  get needsPassphrase(): boolean {
    return this.keysIn === 'passphrase';
  }

  /** Tells whether everything was forgotten that a passphrase protected: what comes next is not left to a key that any program of this user reads. */
  get needsNewPassphrase(): boolean {
    return this.isEmpty && this.#store.keyWasIn === 'passphrase';
  }

  /** Tells whether a passphrase is needed to unlock it: that of the database, or a new one. */
  get takesPassphrase(): boolean {
    return this.needsPassphrase || this.needsNewPassphrase;
  }

  /** @throws ReaderError `passphrase-wrong`, `too-many-requests` */
  checkPassphrase(passphrase: string): Promise<void> {
    return this.#attempts.make(() => this.#store.checkPassphrase(passphrase));
  }

  async lock(): Promise<void> {
    this.#store.lock();
  }

  /**
   * Unlocks the Reader. Where it is locked again meanwhile, it stays locked, however long this takes or has to wait.
   *
   * @param passphrase - of the database; a new one, where {@link needsNewPassphrase}
   * @throws ReaderError `passphrase-wrong`, `passphrase-needed`, `passphrase-too-short`, `too-many-requests`, `reader-locked`, and others of the store
   */
  async unlock(passphrase?: string): Promise<void> {
    if (passphrase === undefined && this.needsNewPassphrase)
      throw new ReaderError('passphrase-needed', 'a passphrase protected the keys before everything was forgotten');
    const asked = this.#store.locks;
    return this.#attempts.make(async () => {
      await this.#store.unlock(passphrase, asked);
      await this.#sites.refresh();
    });
  }
}
