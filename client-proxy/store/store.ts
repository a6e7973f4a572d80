/** Memory of the Reader: the device's seed, bindings, set keys, publications. One SQLite file, which one process has open at a time. */
import { randomBytes } from '#primitives';
import { KEY_LENGTH } from '../../core/crypto/key-id.ts';
import type { VerifiedDescriptor } from '../../core/keys/descriptor.ts';
import type { KeyIssuer } from '../../core/keys/device.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import { insertBinding, readBinding, readSite, sealDeviceKey, updateDescriptor } from './binding-rows.ts';
import { type OpenDatabase, openDatabase } from './database.ts';
import { unwritable } from './errors.ts';
import { IdentityStore } from './identity-store.ts';
import { KeyStore } from './key-store.ts';
import { Preferences } from './preferences.ts';
import { PublicationStore } from './publication-store.ts';
import { SealedDatabase } from './sealed-database.ts';
import { devicePlace, SEED_PLACE, unseal } from './sealing.ts';
import type { NewBinding, Row, StorageKeyOptions, StoredBinding, StoredSite, StoreOptions } from './types.ts';

/** Bytes that a transaction takes besides what is written: pages that are begun, and those of the trees above. */
const BESIDE = 65_536;

export class ReaderStore extends SealedDatabase {
  /** Sentences for the reader about what was put right when it was opened. */
  readonly notices: readonly string[];
  /** Can be read and changed while the Reader is locked, too. */
  readonly preferences = new Preferences(this);
  readonly setKeys = new KeyStore(this, 'set_keys');
  readonly periodKeys = new KeyStore(this, 'period_keys');

  private constructor({ database, notices }: OpenDatabase, options: StorageKeyOptions) {
    super(database, options);
    this.notices = notices;
  }

  /** @throws ReaderError of database.ts and storage-key.ts; `store-busy` where another process has the database */
  static async open({ directory, mayWait = false, ...options }: StoreOptions): Promise<ReaderStore> {
    const opened = openDatabase(directory);
    try {
      const store = new ReaderStore(opened, options);
      await store.begin(options, mayWait);
      return store;
    } catch (error) {
      opened.database.close();
      throw error;
    }
  }

  /** Opens it for what needs no key. @throws ReaderError of database.ts */
  static openLocked({ directory, ...options }: StoreOptions): ReaderStore {
    const opened = openDatabase(directory);
    return new ReaderStore(opened, options);
  }

  close(): void {
    this.database.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async deviceSeed(): Promise<Uint8Array> {
    const select = this.database.prepare("SELECT value FROM secrets WHERE name = 'device-seed'");
    const insert = "INSERT INTO secrets VALUES ('device-seed', ?) ON CONFLICT DO NOTHING";
    if (select.get() === undefined)
      await this.writeSealed(
        (sealing) => sealing.seal(randomBytes(KEY_LENGTH), SEED_PLACE),
        (sealed) => this.database.prepare(insert).run(sealed),
      );
    return this.use((sealing) => unseal(sealing, select.get()?.value, SEED_PLACE));
  }

  /** Names of all connected sites; known while the Reader is locked, too. */
  sites(): StoredSite[] {
    return this.database.prepare('SELECT site, label, proof FROM sites ORDER BY site').all().map(readSite);
  }

  /** Reads all bindings; their descriptors are verified again, so that a changed row is noticed. */
  bindings(): Promise<StoredBinding[]> {
    return this.use((sealing) => {
      const rows = this.database.prepare('SELECT * FROM bindings ORDER BY id').all();
      const sites = this.database.prepare('SELECT site, label, proof, binding FROM sites ORDER BY site').all();
      const sitesOf = (row: Row) => sites.filter((site) => site.binding === row.id);
      return Promise.all(rows.map((row) => readBinding(sealing, row, sitesOf(row))));
    });
  }

  /** Adds a binding, or renews the one with this publisher and key server. All or nothing. */
  saveBinding(binding: NewBinding, now: number): Promise<void> {
    return this.writeSealed(
      (sealing) => sealDeviceKey(sealing, binding),
      (sealed) => insertBinding(this.database, binding, sealed, now),
    );
  }

  saveDeviceKey({ keyServer, publisher }: KeyIssuer, { id, key }: NamedKey): Promise<void> {
    const sql = 'UPDATE bindings SET device_key_id = ?, device_key = ? WHERE key_server = ? AND publisher = ?';
    return this.writeSealed(
      (sealing) => sealing.seal(key, devicePlace(keyServer, publisher, id)),
      (sealed) => void this.database.prepare(sql).run(id, sealed, keyServer, publisher),
    );
  }

  /**
   * Makes the database's files so large that as many bytes can be written next without any more of the disk. A process that is killed in
   * between leaves a row that the next one replaces.
   *
   * @throws ReaderError `disk-full`, `store-unwritable`
   */
  requireRoom(bytes: number): void {
    const name = 'room';
    const fill = this.database.prepare('INSERT OR REPLACE INTO storage (name, value) VALUES (?, zeroblob(?))');
    const remove = this.database.prepare('DELETE FROM storage WHERE name = ?');
    this.writeQuietly(() => fill.run(name, bytes + BESIDE));
    this.writeQuietly(() => remove.run(name));
    try {
      this.database.exec('PRAGMA wal_checkpoint(PASSIVE)'); // the log begins anew, in the room that it has
    } catch (error) {
      throw unwritable(error, this.database.location());
    }
  }

  /** A newer descriptor of a binding. Sites that it adds stay inactive until the reader confirms them. @throws ReaderError `disk-full`, `store-unwritable` */
  saveDescriptor(descriptor: VerifiedDescriptor, descriptorBytes: Uint8Array, now: number): void {
    this.write(() => updateDescriptor(this.database, descriptor, descriptorBytes, now));
  }

  identity(): IdentityStore {
    return new IdentityStore(this);
  }

  publicationOf(site: string): PublicationStore {
    return new PublicationStore(this.database, site);
  }
}
