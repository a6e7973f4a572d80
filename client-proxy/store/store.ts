/** What the reader's programs remember: the device's seed, bindings, set keys. One SQLite file, shared by all of them. */
import type { DatabaseSync } from 'node:sqlite';
import { randomBytes } from '#primitives';
import type { VerifiedDescriptor } from '../../core/keys/descriptor.ts';
import { KEY_LENGTH } from '../../core/keys/key-id.ts';
import type { ReaderError } from '../errors.ts';
import {
  insertBinding,
  type NewBinding,
  readBinding,
  type StoredBinding,
  type StoredSite,
  sealDeviceKey,
  updateDescriptor,
  wasFetchedSince,
} from './binding-rows.ts';
import { DataVersion } from './data-version.ts';
import { type OpenDatabase, openDatabase, withoutWaiting } from './database.ts';
import { IdentityStore } from './identity-store.ts';
import { databaseGone, type OpenedFile } from './opened-file.ts';
import { Preferences } from './preferences.ts';
import { type KeyPlace, readProtection } from './protection.ts';
import { PublicationStore } from './publication-store.ts';
import { takeRoom } from './room.ts';
import { SEED_PLACE, unseal } from './sealed-columns.ts';
import { readerLocked, SealedDatabase } from './sealed-database.ts';
import { SetKeyStore } from './set-key-store.ts';
import type { StorageKeyOptions } from './storage-key.ts';
import { Unkept } from './unkept.ts';

export { type NewBinding, type StoredBinding, type StoredSite, siteTaken } from './binding-rows.ts';
export type { ConnectedPublisher } from './identity-store.ts';

type Row = Readonly<Record<string, unknown>>;

export interface StoreOptions extends StorageKeyOptions {
  /** The folder of the database. */
  readonly directory: string;
  /** Begins locked where a person has to bring the key and nobody can be asked, instead of failing. */
  readonly mayWait?: boolean | undefined;
}

export class ReaderStore {
  readonly #database: DatabaseSync;
  readonly #sealed: SealedDatabase;
  readonly #file: OpenedFile;
  readonly #dataVersion: DataVersion;
  readonly #unkept = new Unkept();
  /** What was put right when it was opened, in sentences for the reader. */
  readonly notices: readonly string[];
  /** Can be read and changed while the Reader is locked, too. */
  readonly preferences: Preferences;
  readonly setKeys: SetKeyStore;

  private constructor({ database, file, notices }: OpenDatabase, sealed: SealedDatabase) {
    this.#database = database;
    this.#sealed = sealed;
    this.notices = notices;
    this.preferences = new Preferences(database, file);
    this.#file = file;
    this.#dataVersion = new DataVersion(database);
    this.setKeys = new SetKeyStore(database, sealed, this.#unkept);
  }

  /** @throws ReaderError of database.ts and storage-key.ts */
  static async open({ directory, mayWait = false, ...options }: StoreOptions): Promise<ReaderStore> {
    const opened = openDatabase(directory);
    try {
      return new ReaderStore(opened, await SealedDatabase.open(opened, options, mayWait));
    } catch (error) {
      opened.database.close();
      throw error;
    }
  }

  /** Opens it for what needs no key. @throws ReaderError of database.ts */
  static openLocked({ directory, ...options }: StoreOptions): ReaderStore {
    const opened = openDatabase(directory);
    return new ReaderStore(opened, SealedDatabase.locked(opened, options));
  }

  /** What could not be written is tried once more. */
  close(): void {
    this.keepUnkept();
    this.#database.close();
  }

  /** Why something newer than what the database has could not be written, from then until all of it was: it is used from memory. */
  get unkept(): ReaderError | undefined {
    return this.#unkept.problem;
  }

  /** @param tell - called when {@link unkept} begins, and, with `undefined`, when it ends */
  whenUnkept(tell: (problem: ReaderError | undefined) => void): void {
    this.#unkept.whenChanged(tell);
  }

  /** Tries to write what could not be written. Waits for no other process: it is tried again. */
  keepUnkept(): void {
    if (this.#unkept.problem === undefined) return;
    withoutWaiting(this.#database, () => this.#unkept.retry());
  }

  /** Where the key of the database is; `undefined` where all was forgotten. */
  get keyPlace(): KeyPlace['kind'] | undefined {
    return readProtection(this.#database)?.place.kind;
  }

  /** Where it was when there was one last, as far as this process knows. */
  get keyWasIn(): KeyPlace['kind'] | undefined {
    return this.keyPlace ?? this.#sealed.keyWasIn;
  }

  /** Whether the database was made just now. */
  get isFresh(): boolean {
    return this.#sealed.opened?.fresh ?? false;
  }

  get isLocked(): boolean {
    return this.#sealed.opened === undefined;
  }

  /** Why the database cannot be used: it was erased or replaced, and no {@link unlock} helps until it is back. `undefined` where that is not so. */
  get lost(): ReaderError | undefined {
    return this.#file.isGone() ? databaseGone() : undefined;
  }

  /** What keeps the keys away while it {@link isLocked}: a lock, or what became of the database. Cheap: asked at every request. */
  whyLocked(): ReaderError {
    return this.#file.wasGone() ? databaseGone() : readerLocked();
  }

  /** @param tell - called at every locking, also where the keys went because the database was erased, forgotten or sealed with another */
  whenLocked(tell: () => void): void {
    this.#sealed.whenLocked(tell);
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
   * @throws ReaderError of storage-key.ts; `store-unusable` where the database was erased; `reader-locked` where it was locked since it was asked for
   */
  async unlock(passphrase?: string, asked?: number): Promise<void> {
    this.#file.require();
    return this.#sealed.unlock(passphrase, asked);
  }

  /**
   * Changes whenever this or another process has changed the database. Cheap: asked at every request. Where the database was erased, its
   * keys go with it.
   */
  version(): string {
    if (!this.isLocked && this.#file.wasGone()) this.lock();
    return `${this.#dataVersion.read()}:${this.#sealed.changes}`;
  }

  /** The device's random seed: made once, and kept. */
  deviceSeed(): Promise<Uint8Array> {
    const select = this.#database.prepare("SELECT value FROM secrets WHERE name = 'device-seed'");
    return this.#sealed.use(async (sealing) => {
      if (select.get() === undefined) {
        const sealed = await sealing.seal(randomBytes(KEY_LENGTH), SEED_PLACE);
        const insert = "INSERT INTO secrets VALUES ('device-seed', ?) ON CONFLICT DO NOTHING";
        this.#sealed.writeSealed(() => this.#database.prepare(insert).run(sealed));
      }
      return unseal(sealing, select.get()?.value, SEED_PLACE);
    });
  }

  /** Names of all connected sites; known while the Reader is locked, too. */
  sites(): StoredSite[] {
    const rows = this.#database.prepare('SELECT site, label FROM sites ORDER BY site').all();
    return rows.map(({ site, label }) => ({ site: String(site), label: String(label) }));
  }

  /** All bindings; their descriptors are verified again, so that a changed row is noticed. */
  bindings(): Promise<StoredBinding[]> {
    return this.#sealed.use((sealing) => {
      const rows = this.#database.prepare('SELECT * FROM bindings ORDER BY id').all();
      const sites = this.#database.prepare('SELECT site, label, binding FROM sites ORDER BY site').all();
      const sitesOf = (row: Row) => sites.filter((site) => site.binding === row.id);
      return Promise.all(rows.map((row) => readBinding(sealing, this.#newest(row), sitesOf(row))));
    });
  }

  /** Adds a binding, or renews the one with this publisher and key server. All or nothing. */
  saveBinding(binding: NewBinding, now: number): Promise<void> {
    return this.#sealed.use(async (sealing) => {
      const sealed = await sealDeviceKey(sealing, binding);
      this.#sealed.writeSealed(() => insertBinding(this.#database, binding, sealed, now));
    });
  }

  /**
   * Shows that so many bytes can be written now, before something is given away for them: writes as many, and removes them again. Then the files
   * have that room, so that what is written next needs none of the disk's.
   *
   * @throws ReaderError `disk-full`, `store-busy`, `store-unwritable`, `store-unusable`
   */
  requireRoom(bytes: number): Promise<void> {
    return this.#sealed.use(async () =>
      takeRoom(this.#database, (work) => this.#sealed.writeSealed(work, true), bytes),
    );
  }

  /** A newer descriptor of a binding. Sites that it adds stay inactive until the reader confirms them. */
  saveDescriptor(descriptor: VerifiedDescriptor, descriptorBytes: Uint8Array, now: number): void {
    const name = `${descriptor.keyServer} ${descriptor.publisher}`;
    const { descriptors } = this.#unkept;
    const unkept = { bytes: descriptorBytes, fetched: now };
    const write = () => {
      const isNewest = !descriptors.has(name) || !wasFetchedSince(this.#database, descriptor, now);
      if (isNewest) this.#sealed.writeQuietly(() => updateDescriptor(this.#database, descriptor, descriptorBytes, now));
      descriptors.delete(name);
    };
    if (!this.#unkept.attempt('lasting', `descriptor ${name}`, write)) descriptors.set(name, unkept);
    this.#sealed.noteChange();
  }

  /** A row of a binding with the descriptor that could not be written, where no other process has fetched one since. */
  #newest(row: Row): Row {
    const unkept = this.#unkept.descriptors.get(`${row.key_server} ${row.publisher}`);
    if (unkept === undefined || Number(row.descriptor_fetched) > unkept.fetched) return row;
    return { ...row, descriptor: unkept.bytes, descriptor_fetched: unkept.fetched };
  }

  /** What concerns the identity as a whole: taking it along, and forgetting it. */
  identity(): IdentityStore {
    return new IdentityStore(this.#database, this.#sealed);
  }

  /** What is kept of a site's publication. */
  publicationOf(site: string): PublicationStore {
    return new PublicationStore(this.#database, site, this.#dataVersion, this.#unkept);
  }
}
