/** What the Reader remembers: the device's seed, bindings, set keys, publications. One SQLite file, which one process has open at a time. */
import type { DatabaseSync } from 'node:sqlite';
import { randomBytes } from '#primitives';
import type { VerifiedDescriptor } from '../../core/keys/descriptor.ts';
import { KEY_LENGTH } from '../../core/keys/key-id.ts';
import { ReaderError } from '../errors.ts';
import { insertBinding, readBinding, readSite, sealDeviceKey, updateDescriptor } from './binding-rows.ts';
import { type OpenDatabase, openDatabase } from './database.ts';
import { unwritable } from './errors.ts';
import { IdentityStore } from './identity-store.ts';
import { readKeyFile, wrongKeyFile } from './key-file.ts';
import { Preferences } from './preferences.ts';
import { type KeyPlace, openWith, readProtection } from './protection.ts';
import { PublicationStore } from './publication-store.ts';
import { type ProtectionChange, SealedDatabase } from './sealed-database.ts';
import { SEED_PLACE, unseal } from './sealing.ts';
import { SetKeyStore } from './set-key-store.ts';
import type { NewKey } from './storage-key.ts';
import type { NewBinding, Row, StoredBinding, StoredSite, StoreOptions } from './types.ts';

/** What a transaction takes besides what is written: pages that are begun, and those of the trees above. */
const BESIDE = 65_536;

export class ReaderStore {
  readonly #database: DatabaseSync;
  readonly #sealed: SealedDatabase;
  /** What was put right when it was opened, in sentences for the reader. */
  readonly notices: readonly string[];
  /** Can be read and changed while the Reader is locked, too. */
  readonly preferences: Preferences;
  readonly setKeys: SetKeyStore;

  private constructor({ database, notices }: OpenDatabase, sealed: SealedDatabase) {
    this.#database = database;
    this.#sealed = sealed;
    this.notices = notices;
    this.preferences = new Preferences(database);
    this.setKeys = new SetKeyStore(database, sealed);
  }

  /** @throws ReaderError of database.ts and storage-key.ts; `store-busy` where another process has the database */
  static async open({ directory, mayWait = false, ...options }: StoreOptions): Promise<ReaderStore> {
    const opened = openDatabase(directory);
    try {
      return new ReaderStore(opened, await SealedDatabase.open(opened.database, options, mayWait));
    } catch (error) {
      opened.database.close();
      throw error;
    }
  }

  /** Opens it for what needs no key. @throws ReaderError of database.ts */
  static openLocked({ directory, ...options }: StoreOptions): ReaderStore {
    const opened = openDatabase(directory);
    return new ReaderStore(opened, SealedDatabase.locked(opened.database, options));
  }

  close(): void {
    this.#database.close();
  }

  /** Where the key of the database is; `undefined` where all was forgotten. */
  get keyPlace(): KeyPlace | undefined {
    return readProtection(this.#database)?.place;
  }

  /** Where it is, or was until everything was forgotten. */
  get keyWasIn(): KeyPlace['kind'] | undefined {
    return this.keyPlace?.kind ?? this.#sealed.keyWasIn;
  }

  /**
   * What is wrong with the key file of the database: it is missing, others may read it, or it is another one's. `undefined` where nothing is,
   * or where the key is elsewhere: looking into the keyring, or making a key out of a passphrase, is for those who need it.
   */
  async keyFileProblem(keyFile: string): Promise<ReaderError | undefined> {
    const protection = readProtection(this.#database);
    if (protection?.place.kind !== 'key-file') return undefined;
    try {
      const sealing = await openWith(readKeyFile(keyFile), protection);
      return sealing === undefined ? wrongKeyFile(keyFile) : undefined;
    } catch (error) {
      if (error instanceof ReaderError) return error;
      throw error;
    }
  }

  /** Whether the database was made just now. */
  get isFresh(): boolean {
    return this.#sealed.opened?.fresh ?? false;
  }

  get isLocked(): boolean {
    return this.#sealed.opened === undefined;
  }

  /** @param listener - called at every locking */
  whenLocked(listener: () => void): void {
    this.#sealed.whenLocked(listener);
  }

  /** Drops all keys, until {@link unlock}. What is no secret can still be asked for. */
  lock(): void {
    this.#sealed.lock();
  }

  /** How often {@link lock} was called. */
  get locks(): number {
    return this.#sealed.locks;
  }

  /**
   * Gets the keys back.
   *
   * @param passphrase - where the database is protected by one
   * @param asked - {@link locks} when it was asked for, where that is a while ago
   * @throws ReaderError of storage-key.ts; `reader-locked` where it was locked since it was asked for
   */
  async unlock(passphrase?: string, asked?: number): Promise<void> {
    return this.#sealed.unlock(passphrase, asked);
  }

  /** @throws ReaderError `passphrase-wrong`, `argument-invalid` */
  async checkPassphrase(passphrase: string): Promise<void> {
    return this.#sealed.checkPassphrase(passphrase);
  }

  /** Moves the key of the database somewhere else, or changes the passphrase. @throws ReaderError; nothing was changed then */
  changeProtection(makeKey: () => NewKey | Promise<NewKey>): Promise<ProtectionChange> {
    return this.#sealed.changeProtection(makeKey);
  }

  /** Grows with every change of bindings, every lock and unlock. */
  get version(): number {
    return this.#sealed.changes;
  }

  /** The device's random seed: made once, and kept. */
  deviceSeed(): Promise<Uint8Array> {
    const select = this.#database.prepare("SELECT value FROM secrets WHERE name = 'device-seed'");
    return this.#sealed.use(async (sealing) => {
      if (select.get() === undefined) {
        const sealed = await sealing.seal(randomBytes(KEY_LENGTH), SEED_PLACE);
        const insert = "INSERT INTO secrets VALUES ('device-seed', ?) ON CONFLICT DO NOTHING";
        this.#sealed.requireCurrent(sealing);
        this.#sealed.write(() => this.#database.prepare(insert).run(sealed));
      }
      return unseal(sealing, select.get()?.value, SEED_PLACE);
    });
  }

  /** Names of all connected sites; known while the Reader is locked, too. */
  sites(): StoredSite[] {
    return this.#database.prepare('SELECT site, label, proof FROM sites ORDER BY site').all().map(readSite);
  }

  /** All bindings; their descriptors are verified again, so that a changed row is noticed. */
  bindings(): Promise<StoredBinding[]> {
    return this.#sealed.use((sealing) => {
      const rows = this.#database.prepare('SELECT * FROM bindings ORDER BY id').all();
      const sites = this.#database.prepare('SELECT site, label, proof, binding FROM sites ORDER BY site').all();
      const sitesOf = (row: Row) => sites.filter((site) => site.binding === row.id);
      return Promise.all(rows.map((row) => readBinding(sealing, row, sitesOf(row))));
    });
  }

  /** Adds a binding, or renews the one with this publisher and key server. All or nothing. */
  saveBinding(binding: NewBinding, now: number): Promise<void> {
    return this.#sealed.use(async (sealing) => {
      const sealed = await sealDeviceKey(sealing, binding);
      this.#sealed.requireCurrent(sealing);
      this.#sealed.write(() => insertBinding(this.#database, binding, sealed, now));
    });
  }

  /**
   * Makes the database's files so large that as many bytes can be written next without any more of the disk. A process that is killed in
   * between leaves a row that the next one replaces.
   *
   * @throws ReaderError `disk-full`, `store-unwritable`
   */
  requireRoom(bytes: number): void {
    const name = 'room';
    const fill = this.#database.prepare('INSERT OR REPLACE INTO storage (name, value) VALUES (?, zeroblob(?))');
    const remove = this.#database.prepare('DELETE FROM storage WHERE name = ?');
    this.#sealed.writeQuietly(() => fill.run(name, bytes + BESIDE));
    this.#sealed.writeQuietly(() => remove.run(name));
    try {
      this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)'); // the log begins anew, in the room that it has
    } catch (error) {
      throw unwritable(error, this.#database.location());
    }
  }

  /** A newer descriptor of a binding. Sites that it adds stay inactive until the reader confirms them. @throws ReaderError `disk-full`, `store-unwritable` */
  saveDescriptor(descriptor: VerifiedDescriptor, descriptorBytes: Uint8Array, now: number): void {
    this.#sealed.write(() => updateDescriptor(this.#database, descriptor, descriptorBytes, now));
  }

  /** What concerns the identity as a whole: exporting, importing and forgetting it. */
  identity(): IdentityStore {
    return new IdentityStore(this.#database, this.#sealed);
  }

  /** What is kept of a site's publication. */
  publicationOf(site: string): PublicationStore {
    return new PublicationStore(this.#database, site);
  }
}
