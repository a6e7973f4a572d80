/**
 * A database together with what opens its secrets. The secrets can be locked away and opened again while the database stays in use, and
 * another process may change at any time what they are sealed with.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import { ReaderError } from '../errors.ts';
import { type OpenDatabase, unwritable } from './database.ts';
import type { OpenedFile } from './opened-file.ts';
import { type KeyPlace, readProtection } from './protection.ts';
import type { Sealing } from './sealing.ts';
import { type Opened, openSealing, type Passphrase, type StorageKeyOptions } from './storage-key.ts';

/** Another process changes the protection once in a while, not again and again. */
const ATTEMPTS = 3;

/** A key is missing that a person can bring. */
const CAN_WAIT: readonly string[] = ['passphrase-needed', 'keyring-unavailable'];

type Opening = Pick<OpenDatabase, 'database' | 'file'>;

export class SealedDatabase {
  readonly #database: DatabaseSync;
  readonly #file: OpenedFile;
  readonly #keyOptions: Pick<StorageKeyOptions, 'keyFile' | 'keyring'>;
  readonly #selectCheck: StatementSync;
  #passphrase: Passphrase | undefined;
  #opened: Opened | undefined;
  #keyWasIn: KeyPlace['kind'] | undefined;
  #renewal: Promise<Sealing> | undefined;
  #changes = 0;
  #locks = 0;
  #whenLocked: () => void = () => undefined;

  private constructor({ database, file }: Opening, options: StorageKeyOptions) {
    this.#database = database;
    this.#file = file;
    this.#keyOptions = { keyFile: options.keyFile, keyring: options.keyring };
    this.#passphrase = options.passphrase;
    this.#keyWasIn = readProtection(database)?.place.kind;
    this.#selectCheck = database.prepare("SELECT value FROM storage WHERE name = 'check'");
  }

  /** @param mayWait - begins locked where a person has to bring the key, instead of failing */
  static async open(opening: Opening, options: StorageKeyOptions, mayWait: boolean): Promise<SealedDatabase> {
    const sealed = new SealedDatabase(opening, options);
    try {
      sealed.#use(await openSealing(opening.database, options));
    } catch (error) {
      if (!mayWait || !(error instanceof ReaderError) || !CAN_WAIT.includes(error.code)) throw error;
    }
    return sealed;
  }

  /** Locked from the start, whatever its key. */
  static locked(opening: Opening, options: StorageKeyOptions): SealedDatabase {
    return new SealedDatabase(opening, options);
  }

  /** `undefined` while it is locked. */
  get opened(): Opened | undefined {
    return this.#opened;
  }

  /** Where the key was when there was one last: also after everything was forgotten. */
  get keyWasIn(): KeyPlace['kind'] | undefined {
    return this.#keyWasIn;
  }

  /** Counts this process's own changes; SQLite counts those of others only. */
  get changes(): number {
    return this.#changes;
  }

  /** @param tell - called at every locking, also where nobody asked for it: whatever else holds secrets lets go of them, too */
  whenLocked(tell: () => void): void {
    this.#whenLocked = tell;
  }

  /** How often {@link lock} was called. Whatever began to open before the last time ends in nothing, however long it takes. */
  get locks(): number {
    return this.#locks;
  }

  /** Drops the keys, and the way to get a passphrase again. */
  lock(): void {
    this.#locks++;
    this.#drop();
  }

  /**
   * @param asked - {@link locks} when it was asked for
   * @throws ReaderError of storage-key.ts; `reader-locked` where it was locked since
   */
  async unlock(passphrase: string | undefined, asked = this.#locks): Promise<void> {
    await this.#open(passphrase === undefined ? undefined : async () => passphrase, asked);
    this.#changes++;
  }

  /**
   * Reads or seals secrets. `work` runs again where another process has changed the protection meanwhile.
   *
   * @throws ReaderError `reader-locked`, and whatever `work` throws
   */
  async use<Result>(work: (sealing: Sealing) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      const sealing = this.#isCurrent() ? this.#opened?.sealing : await this.#renew();
      if (sealing === undefined) throw readerLocked();
      try {
        return await work(sealing);
      } catch (error) {
        if (attempt === ATTEMPTS || this.#isCurrent()) throw error;
      }
    }
  }

  /** One transaction that another process's sees whole or not at all. @throws ReaderError `disk-full`, `store-busy`, `store-unwritable`, and `store-unusable` where nobody would find it any more */
  write<Result>(work: () => Result): Result {
    const result = this.writeQuietly(work);
    this.#changes++;
    return result;
  }

  /** Something that this process goes by is another now, although it could not be written. */
  noteChange(): void {
    this.#changes++;
  }

  /** As {@link write}, for what is no change to anybody in this process. */
  writeQuietly<Result>(work: () => Result): Result {
    this.#file.require();
    try {
      return inTransaction(this.#database, work);
    } catch (error) {
      throw error instanceof ReaderError ? error : unwritable(error, this.#database.location());
    }
  }

  /** As {@link write}, of what was sealed: nothing that is sealed under a key of yesterday must get in. Within {@link use} only. */
  writeSealed<Result>(work: () => Result, quietly = false): Result {
    const checked = () => {
      if (!this.#isCurrent()) throw readerLocked(); // use() tries again
      return work();
    };
    return quietly ? this.writeQuietly(checked) : this.write(checked);
  }

  /** Whether the key at hand is the one that the database is sealed with now. */
  #isCurrent(): boolean {
    if (this.#opened === undefined) return false;
    const check = this.#selectCheck.get()?.value;
    return check instanceof Uint8Array && equalBytes(check, this.#opened.protection.check);
  }

  #renew(): Promise<Sealing> {
    if (this.#opened === undefined) throw readerLocked();
    this.#renewal ??= this.#reopen().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  /** The key is elsewhere now: found by itself in the keyring or the file; for a passphrase, a person is needed. */
  async #reopen(): Promise<Sealing> {
    const outdated = this.#opened;
    try {
      if (this.#selectCheck.get() === undefined) throw readerLocked(); // all was forgotten
      const { sealing } = await this.#open(this.#passphrase, this.#locks);
      return sealing;
    } catch (error) {
      if (this.#opened === outdated) this.#drop(); // else a person was quicker
      throw readerLocked(error);
    }
  }

  /** Of several that are under way, none brings back what was locked away since it was asked for. */
  async #open(passphrase: Passphrase | undefined, asked: number): Promise<Opened> {
    if (this.#locks !== asked) throw readerLocked();
    const opened = await openSealing(this.#database, { ...this.#keyOptions, passphrase });
    if (this.#locks !== asked) throw readerLocked();
    return this.#use(opened);
  }

  #use(opened: Opened): Opened {
    this.#opened = opened;
    this.#keyWasIn = opened.protection.place.kind;
    return opened;
  }

  #drop(): void {
    this.#opened = undefined;
    this.#passphrase = undefined;
    this.#changes++;
    this.#whenLocked();
  }
}

export function readerLocked(cause?: unknown): ReaderError {
  return new ReaderError('reader-locked', 'the Reader is locked: it has let go of its keys', {
    cause,
    hint: 'wispr identity unlock',
  });
}
