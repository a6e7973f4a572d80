/** What the reader's programs remember: the device's seed, bindings, set keys. One SQLite file, shared by all of them. */

import type { DatabaseSync } from 'node:sqlite';
import { randomBytes } from '#primitives';
import { reasonOf } from '../../core/errors.ts';
import { type VerifiedDescriptor, verifyDescriptor } from '../../core/keys/descriptor.ts';
import { KEY_LENGTH, type KeyId, keyIdOf } from '../../core/keys/key-id.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import type { SetKey } from '../../core/object/document-reader.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import { ReaderError } from '../errors.ts';
import { damaged, openDatabase, unwritable } from './database.ts';
import { Preferences } from './preferences.ts';
import { PublicationStore, saveFirstRoot } from './publication-store.ts';
import type { Sealing } from './sealing.ts';
import { openSealing, type StorageKeyOptions } from './storage-key.ts';

export interface StoreOptions extends StorageKeyOptions {
  /** The folder of the database. */
  readonly directory: string;
}

/** A site that the reader confirmed. */
export interface StoredSite {
  readonly site: string;
  /** Its name below `localhost`. */
  readonly label: string;
}

/** What connects this device with a publisher. */
export interface StoredBinding {
  readonly id: number;
  readonly descriptor: VerifiedDescriptor;
  readonly descriptorBytes: Uint8Array;
  /** Seconds since 1970. */
  readonly descriptorFetched: number;
  readonly deviceKey: NamedKey;
  readonly sites: readonly StoredSite[];
}

export interface NewBinding {
  readonly descriptor: VerifiedDescriptor;
  readonly descriptorBytes: Uint8Array;
  /** Left out where the device stays bound with the key that it has. */
  readonly deviceKey: NamedKey | undefined;
  readonly sites: readonly StoredSite[];
  /** The publisher's first root, which its id was compared with. */
  readonly firstRoot: Uint8Array;
}

/** A key that this device has, and when it is good: seconds since 1970. */
export interface KeyTime {
  readonly id: KeyId;
  readonly notBefore: number;
  readonly notAfter: number;
}

type Row = Record<string, unknown>;

export class ReaderStore {
  readonly preferences: Preferences;
  readonly #database: DatabaseSync;
  readonly #sealing: Sealing;
  readonly #dataVersion;
  readonly #setKey;
  #ownChanges = 0;

  private constructor(database: DatabaseSync, sealing: Sealing) {
    this.preferences = new Preferences(database);
    this.#database = database;
    this.#sealing = sealing;
    this.#dataVersion = database.prepare('PRAGMA data_version');
    this.#setKey = database.prepare('SELECT not_before, not_after, key FROM set_keys WHERE binding = ? AND id = ?');
  }

  /** @throws ReaderError of database.ts and storage-key.ts */
  static async open(options: StoreOptions): Promise<ReaderStore> {
    const database = openDatabase(options.directory);
    try {
      return new ReaderStore(database, await openSealing(database, options));
    } catch (error) {
      database.close();
      throw error;
    }
  }

  close(): void {
    this.#database.close();
  }

  /** Changes whenever this or another process has changed the database. Cheap: asked at every request. */
  version(): string {
    return `${this.#dataVersion.get()?.data_version}:${this.#ownChanges}`;
  }

  /** The device's random seed: made once, and kept. */
  async deviceSeed(): Promise<Uint8Array> {
    const sealed = await this.#sealing.seal(randomBytes(32), ['secrets', 'device-seed']);
    this.#write(() =>
      this.#database.prepare("INSERT INTO secrets VALUES ('device-seed', ?) ON CONFLICT DO NOTHING").run(sealed),
    );
    const row = this.#database.prepare("SELECT value FROM secrets WHERE name = 'device-seed'").get();
    return this.#unseal(row?.value, ['secrets', 'device-seed']);
  }

  /** All bindings; their descriptors are verified again, so that a changed row is noticed. */
  async bindings(): Promise<StoredBinding[]> {
    const rows = this.#database.prepare('SELECT * FROM bindings ORDER BY id').all();
    const sites = this.#database.prepare('SELECT site, label, binding FROM sites ORDER BY site').all();
    return Promise.all(
      rows.map((row) =>
        this.#readBinding(
          row,
          sites.filter((site) => site.binding === row.id),
        ),
      ),
    );
  }

  /** Adds a binding, or renews the one with this publisher and key server. All or nothing. */
  async saveBinding(binding: NewBinding, now: number): Promise<void> {
    const { descriptor, descriptorBytes, deviceKey, sites, firstRoot } = binding;
    const { keyServer, publisher } = descriptor;
    const place = deviceKey && devicePlace(keyServer, publisher, deviceKey.id);
    const sealed = deviceKey && place && (await this.#sealing.seal(deviceKey.key, place));
    this.#write(() =>
      inTransaction(this.#database, () => {
        const id =
          deviceKey && sealed
            ? this.#upsertBinding(descriptor, descriptorBytes, deviceKey.id, sealed, now)
            : this.#updateDescriptor(descriptor, descriptorBytes, now);
        const insert = this.#database.prepare(
          'INSERT INTO sites (site, label, binding, confirmed) VALUES (?, ?, ?, ?) ON CONFLICT (site) DO UPDATE SET confirmed = excluded.confirmed WHERE binding = excluded.binding',
        );
        for (const { site, label } of sites) insert.run(site, label, id, now);
        this.#checkOwner(id, sites);
        const wanted = this.#database.prepare('DELETE FROM declined WHERE site = ?');
        for (const { site } of sites) wanted.run(site);
        for (const { site } of sites) saveFirstRoot(this.#database, site, firstRoot);
      }),
    );
  }

  /** A newer descriptor of a binding. Sites that it adds stay inactive until the reader confirms them. */
  saveDescriptor(descriptor: VerifiedDescriptor, descriptorBytes: Uint8Array, now: number): void {
    this.#write(() => this.#updateDescriptor(descriptor, descriptorBytes, now));
  }

  /** What is kept of a site's publication. */
  publicationOf(site: string): PublicationStore {
    return new PublicationStore(this.#database, site);
  }

  /** Takes a publisher away, with its sites, their publications, and all its keys. What it knows of this device stays with it. */
  removeBinding(id: number): void {
    this.#write(() => this.#database.prepare('DELETE FROM bindings WHERE id = ?').run(id));
  }

  /** When the keys of a binding are good; those that end last, first. */
  keyTimes(binding: number): KeyTime[] {
    return this.#database
      .prepare('SELECT id, not_before, not_after FROM set_keys WHERE binding = ? ORDER BY not_after DESC, id')
      .all(binding)
      .map((row) => ({ id: row.id as KeyId, notBefore: Number(row.not_before), notAfter: Number(row.not_after) }));
  }

  async setKey(binding: number, id: KeyId): Promise<SetKey | undefined> {
    const row = this.#setKey.get(binding, id);
    if (row === undefined) return undefined;
    const [notBefore, notAfter] = [Number(row.not_before), Number(row.not_after)];
    return { key: await this.#unseal(row.key, setKeyPlace(binding, id, notBefore, notAfter)), notBefore, notAfter };
  }

  /** Keeps set keys; the caller has checked that each hashes to its id. */
  async saveSetKeys(binding: number, keys: ReadonlyMap<KeyId, SetKey>): Promise<void> {
    const rows = await Promise.all(
      Array.from(keys, async ([id, { key, notBefore, notAfter }]) => {
        const sealed = await this.#sealing.seal(key, setKeyPlace(binding, id, notBefore, notAfter));
        return [binding, id, notBefore, notAfter, sealed] as const;
      }),
    );
    const insert = this.#database.prepare('INSERT OR REPLACE INTO set_keys VALUES (?, ?, ?, ?, ?)');
    this.#inOneWrite(() => {
      for (const row of rows) insert.run(...row);
    });
  }

  /** Set keys come often and change no binding, so {@link version} stays as it is for this process. */
  #inOneWrite(work: () => void): void {
    try {
      inTransaction(this.#database, work);
    } catch (error) {
      throw unwritable(error);
    }
  }

  #write(work: () => unknown): void {
    try {
      work();
      this.#ownChanges++;
    } catch (error) {
      throw error instanceof ReaderError ? error : unwritable(error);
    }
  }

  #upsertBinding(
    { keyServer, publisher }: VerifiedDescriptor,
    bytes: Uint8Array,
    deviceKeyId: KeyId,
    sealed: Uint8Array,
    now: number,
  ): number {
    const row = this.#database
      .prepare(
        `INSERT INTO bindings (key_server, publisher, descriptor, descriptor_fetched, device_key_id, device_key, bound)
         VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key_server, publisher) DO UPDATE SET descriptor = excluded.descriptor,
         descriptor_fetched = excluded.descriptor_fetched, device_key_id = excluded.device_key_id,
         device_key = excluded.device_key, bound = excluded.bound RETURNING id`,
      )
      .get(keyServer, publisher, bytes, now, deviceKeyId, sealed, now);
    return Number(row?.id);
  }

  #updateDescriptor({ keyServer, publisher }: VerifiedDescriptor, bytes: Uint8Array, now: number): number {
    const row = this.#database
      .prepare(
        'UPDATE bindings SET descriptor = ?, descriptor_fetched = ? WHERE key_server = ? AND publisher = ? RETURNING id',
      )
      .get(bytes, now, keyServer, publisher);
    return Number(row?.id);
  }

  /** The last word on "two bindings never share a host": two processes may have looked at the same time. */
  #checkOwner(binding: number, sites: readonly StoredSite[]): void {
    const owner = this.#database.prepare('SELECT binding FROM sites WHERE site = ?');
    const taken = sites.find(({ site }) => owner.get(site)?.binding !== binding);
    if (taken) throw siteTaken(taken.site);
  }

  async #readBinding(row: Row, sites: Row[]): Promise<StoredBinding> {
    const { descriptor: bytes, device_key_id: deviceKeyId } = row;
    const descriptor = await readDescriptor(bytes);
    if (descriptor.keyServer !== row.key_server || descriptor.publisher !== row.publisher)
      throw damaged('table bindings', 'a descriptor belongs to another binding');
    const place = devicePlace(descriptor.keyServer, descriptor.publisher, String(deviceKeyId));
    const key = await this.#unseal(row.device_key, place);
    if ((await keyIdOf('device', key)) !== deviceKeyId) throw damaged('table bindings', 'a device key is another');
    return {
      id: Number(row.id),
      descriptor,
      descriptorBytes: bytes as Uint8Array,
      descriptorFetched: Number(row.descriptor_fetched),
      deviceKey: { id: deviceKeyId as KeyId, key },
      sites: sites.map(({ site, label }) => ({ site: String(site), label: String(label) })),
    };
  }

  async #unseal(sealed: unknown, place: readonly (string | number)[]): Promise<Uint8Array> {
    const secret = sealed instanceof Uint8Array ? await this.#sealing.open(sealed, place) : undefined;
    if (secret?.length !== KEY_LENGTH) throw damaged(`table ${place[0]}`, 'a sealed key cannot be opened');
    return secret;
  }
}

/** A site that is bound already, to another publisher or through another key server. */
export function siteTaken(site: string): ReaderError {
  return new ReaderError('site-taken', `${site} is already connected to another publisher or key server`, {
    hint: 'two publishers never share a site; nothing was changed',
  });
}

/** Its expiry is looked at when it is used, not when it is read. */
async function readDescriptor(bytes: unknown): Promise<VerifiedDescriptor> {
  try {
    return await verifyDescriptor(bytes as Uint8Array, 0);
  } catch (error) {
    throw damaged('table bindings', reasonOf(error), error);
  }
}

function devicePlace(keyServer: string, publisher: KeyId, deviceKeyId: KeyId): (string | number)[] {
  return ['bindings', 'device_key', keyServer, publisher, deviceKeyId];
}

function setKeyPlace(binding: number, id: KeyId, notBefore: number, notAfter: number): (string | number)[] {
  return ['set_keys', 'key', binding, id, notBefore, notAfter];
}
