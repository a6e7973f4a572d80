/** A database together with what opens its secrets, which can be locked away and opened again while the database stays in use. */
import type { DatabaseSync } from 'node:sqlite';
import { inTransaction } from '../../node-support/sqlite.ts';
import { ReaderError } from '../errors.ts';
import { type Limits, limitsOf } from '../limits.ts';
import { readerLocked, unwritable } from './errors.ts';
import { type KeyLocation, newProtection, readProtection, writeProtection } from './protection.ts';
import { type Sealing, sealAnew } from './sealing.ts';
import { discardKey, type NewKey, openSealing, type UnlockedStorage } from './storage-key.ts';
import type { StorageKeyOptions } from './types.ts';

/** A key is missing that a person can bring. */
const CAN_WAIT: readonly string[] = ['passphrase-needed', 'keyring-unavailable'];

export interface ProtectionChange {
  readonly before: KeyLocation['kind'];
  readonly after: KeyLocation['kind'];
  /** Tells whether the previous key is gone: `false` where the keyring did not remove it, or the key file may serve other databases. */
  readonly discarded: boolean;
}

export class SealedDatabase {
  readonly database: DatabaseSync;
  readonly limits: Limits;
  readonly #keyOptions: Pick<StorageKeyOptions, 'keyFile' | 'keyring' | 'limits'>;
  #opened: UnlockedStorage | undefined;
  #keyWasIn: KeyLocation['kind'] | undefined;
  #changes = 0;
  #writes = 0;
  #locks = 0;
  #onLock: () => void = () => undefined;

  /** Locked, until {@link begin} or {@link unlock}. */
  protected constructor(database: DatabaseSync, { keyFile, keyring, limits }: StorageKeyOptions) {
    this.database = database;
    this.limits = limitsOf({ limits });
    this.#keyOptions = { keyFile, keyring, limits };
    this.#keyWasIn = this.keyLocation?.kind;
  }

  /** @param mayWait - stays locked where a person has to bring the key, instead of failing */
  protected async begin(options: StorageKeyOptions, mayWait: boolean): Promise<void> {
    try {
      this.#use(await openSealing(this.database, options));
    } catch (error) {
      if (!mayWait || !(error instanceof ReaderError) || !CAN_WAIT.includes(error.code)) throw error;
    }
  }

  get isFresh(): boolean {
    return this.#opened?.fresh ?? false;
  }

  get isLocked(): boolean {
    return this.#opened === undefined;
  }

  /** Place of the key of the database; `undefined` where all was forgotten. */
  get keyLocation(): KeyLocation | undefined {
    return readProtection(this.database)?.place;
  }

  /** Place of the key, or its last one before everything was forgotten. */
  get keyWasIn(): KeyLocation['kind'] | undefined {
    return this.#keyWasIn;
  }

  /**
   * Finds what is wrong with the key file of the database: it is missing, others may read it, or it is another one's. `undefined` where nothing is,
   * or where the key is elsewhere: looking into the keyring, or making a key out of a passphrase, is for those who need it.
   */
  async keyFileProblem(keyFile: string): Promise<ReaderError | undefined> {
    if (this.keyLocation?.kind !== 'key-file') return undefined;
    try {
      await openSealing(this.database, { keyFile, limits: this.limits });
      return undefined;
    } catch (error) {
      if (error instanceof ReaderError) return error;
      throw error;
    }
  }

  /** Grows with every change of bindings, every lock and unlock. */
  get version(): number {
    return this.#changes;
  }

  /** @param listener - called at every {@link lock}: whatever else holds secrets drops them, too */
  whenLocked(listener: () => void): void {
    this.#onLock = listener;
  }

  get locks(): number {
    return this.#locks;
  }

  /** Drops all keys; what is no secret can still be asked for. An {@link unlock} that is under way fails, however long it takes. */
  lock(): void {
    this.#locks++;
    this.#opened = undefined;
    this.#changes++;
    this.#onLock();
  }

  /** Gets the keys back. @param asked - {@link locks} when it was asked for, where that is a while ago */
  async unlock(passphrase?: string, asked = this.#locks): Promise<void> {
    const given = passphrase === undefined ? {} : { passphrase: async () => passphrase };
    const opened = await openSealing(this.database, { ...this.#keyOptions, ...given });
    if (this.#locks !== asked) throw readerLocked();
    this.#use(opened);
    this.#changes++;
  }

  /** Checks that the passphrase is that of the database. @throws ReaderError `passphrase-wrong` and others of storage-key.ts */
  async checkPassphrase(passphrase: string): Promise<void> {
    await openSealing(this.database, { ...this.#keyOptions, passphrase: async () => passphrase });
  }

  /** Reads or seals secrets, again where the protection changed meanwhile. @throws ReaderError `reader-locked`; as `work` */
  async use<Result>(work: (sealing: Sealing) => Promise<Result>): Promise<Result> {
    for (;;) {
      const sealing = this.#opened?.sealing;
      if (sealing === undefined) throw readerLocked();
      try {
        return await work(sealing);
      } catch (error) {
        if (this.#opened === undefined || this.#opened.sealing === sealing) throw error;
      }
    }
  }

  /** Runs a transaction that changes bindings or settings. @throws ReaderError `disk-full`, `store-unwritable` */
  write<Result>(work: () => Result): Result {
    const result = this.writeQuietly(work);
    this.#changes++;
    return result;
  }

  /** Writes as {@link write}, where no binding changes. */
  writeQuietly<Result>(work: () => Result): Result {
    try {
      const result = inTransaction(this.database, work);
      this.#writes++;
      return result;
    } catch (error) {
      throw error instanceof ReaderError ? error : unwritable(error, this.database.location());
    }
  }

  /**
   * Seals secrets, and writes them in one transaction.
   *
   * @param quietly - no binding changes
   * @throws ReaderError `reader-locked`, also where it was locked meanwhile; `disk-full`, `store-unwritable`; whatever `write` throws
   */
  writeSealed<Sealed>(
    seal: (sealing: Sealing) => Promise<Sealed>,
    write: (sealed: Sealed) => void,
    { quietly = false } = {},
  ): Promise<void> {
    return this.use(async (sealing) => {
      const sealed = await seal(sealing);
      this.#requireCurrent(sealing);
      this.writeQuietly(() => write(sealed));
      if (!quietly) this.#changes++;
    });
  }

  /** Throws where something was sealed under a key that is not in use any more: {@link use} runs again. */
  #requireCurrent(sealing: Sealing): void {
    if (this.#opened?.sealing !== sealing) throw readerLocked();
  }

  /**
   * Moves the key of the database somewhere else, or makes a new one: every secret is sealed anew, in one transaction. Whenever it is
   * interrupted, the database opens with the previous key or with the new one.
   *
   * @throws ReaderError; nothing was changed then
   */
  async changeProtection(makeKey: () => NewKey | Promise<NewKey>): Promise<ProtectionChange> {
    const previous = this.#opened;
    if (previous === undefined) throw readerLocked();
    const made = await makeKey();
    try {
      await this.#sealUnder(made, previous);
    } catch (error) {
      await discardKey(made.place, this.limits);
      throw error;
    }
    const { kind } = previous.protection.place;
    const discarded = (await discardKey(previous.protection.place, this.limits)) && kind !== 'key-file';
    return { before: kind, after: made.place.kind, discarded };
  }

  async #sealUnder({ key, place }: NewKey, previous: UnlockedStorage): Promise<void> {
    const { sealing, protection } = await newProtection(key, place);
    for (;;) {
      const writes = this.#writes;
      const writeSecrets = await sealAnew(this.database, previous.sealing, sealing);
      this.#requireCurrent(previous.sealing);
      if (writes !== this.#writes) continue; // a secret may have been added meanwhile
      this.writeQuietly(() => {
        writeSecrets();
        writeProtection(this.database, protection);
      });
      break;
    }
    this.#use({ sealing, protection, fresh: false });
    this.database.exec('PRAGMA wal_checkpoint(TRUNCATE)'); // the log still has what was sealed under the previous key
  }

  #use(opened: UnlockedStorage): void {
    this.#opened = opened;
    this.#keyWasIn = opened.protection.place.kind;
  }
}
