/** The identity as a whole: what a roaming file holds, and forgetting. */
import type { DatabaseSync } from 'node:sqlite';
import { insertBinding, readDescriptor, readSite, sealDeviceKey } from './binding-rows.ts';
import { damaged } from './errors.ts';
import type { SealedDatabase } from './sealed-database.ts';
import { roamingPlace, SEED_PLACE, type Sealing, unseal } from './sealing.ts';
import type { HostProof, NewBinding, RoamingKey, RoamingRecord, Row } from './types.ts';

/** The newest roaming file of the line that this device writes, with what the next one can be written by. */
interface OwnRoaming extends RoamingRecord {
  readonly key: RoamingKey;
}

export interface Arrival {
  /** Takes the place of everything that is there. */
  readonly replace: boolean;
  /** The seed, where this device takes it over. */
  readonly seed: Uint8Array | undefined;
  readonly bindings: readonly NewBinding[];
  readonly seen: RoamingRecord;
  readonly key: RoamingKey | undefined;
}

/** A publisher that this device is connected with, without the keys. */
export interface ConnectedPublisher {
  readonly id: number;
  readonly name: string;
  readonly publisher: string;
  readonly keyServer: string;
  readonly sites: readonly string[];
  /** Kind of proof, by site, that it is this publisher's. */
  readonly proofs: Readonly<Record<string, HostProof>>;
  /** Time of the binding: seconds since 1970. */
  readonly bound: number;
  readonly setKeys: number;
}

export class IdentityStore {
  readonly #database: DatabaseSync;
  readonly #sealed: SealedDatabase;

  constructor(sealed: SealedDatabase) {
    this.#database = sealed.database;
    this.#sealed = sealed;
  }

  /** Lists them, while the Reader is locked, too. @throws ReaderError `store-damaged` */
  publishers(): Promise<ConnectedPublisher[]> {
    const rows = this.#database
      .prepare(
        'SELECT *, (SELECT count(*) FROM set_keys WHERE binding = bindings.id) AS set_keys FROM bindings ORDER BY id',
      )
      .all();
    const select = this.#database.prepare('SELECT site, label, proof FROM sites WHERE binding = ? ORDER BY site');
    return Promise.all(
      rows.map(async (row) => {
        const { name, publisher, keyServer } = await readDescriptor(row.descriptor);
        const [id, bound, setKeys] = [Number(row.id), Number(row.bound), Number(row.set_keys)];
        const sites = select.all(id).map(readSite);
        const proofs = Object.fromEntries(sites.map(({ site, proof }) => [site, proof]));
        return { id, name, publisher, keyServer, sites: sites.map(({ site }) => site), proofs, bound, setKeys };
      }),
    );
  }

  /** The newest file of a line that this device has seen; known while the Reader is locked, too. */
  seenRoaming(id: string): RoamingRecord | undefined {
    const row = this.#database.prepare('SELECT * FROM roaming WHERE id = ?').get(id);
    return row && seenIn(row);
  }

  /** Tells whether this device has written a roaming file, or taken one over. Known while the Reader is locked, too. */
  get hasRoamed(): boolean {
    return this.#database.prepare('SELECT 1 FROM roaming').get() !== undefined;
  }

  /** The newest file of the line that this device writes; known while the Reader is locked, too. */
  ownRoaming(): RoamingRecord | undefined {
    const row = this.#ownRow();
    return row && seenIn(row);
  }

  /** The same, with what the next one can be written by. */
  openOwnRoaming(): Promise<OwnRoaming | undefined> {
    return this.#sealed.use(async (sealing) => {
      const row = this.#ownRow();
      if (row === undefined) return undefined;
      const { salt } = row;
      if (!(salt instanceof Uint8Array)) throw damaged('table roaming', 'a salt is missing');
      const stretched = await unseal(sealing, row.key, roamingPlace(String(row.id), salt));
      return { ...seenIn(row), key: { salt, stretched } };
    });
  }

  #ownRow(): Row | undefined {
    return this.#database.prepare('SELECT * FROM roaming WHERE key IS NOT NULL').get();
  }

  saveOwnRoaming(seen: RoamingRecord, key: RoamingKey): Promise<void> {
    return this.#sealed.writeSealed(
      (sealing) => sealRoamingKey(sealing, seen.id, key),
      (sealed) => saveRoaming(this.#database, seen, sealed),
    );
  }

  /** Takes over what came with a roaming file. All or nothing. @throws ReaderError `site-taken` */
  saveArrival({ replace, seed, bindings, seen, key }: Arrival, now: number): Promise<void> {
    return this.#sealed.writeSealed(
      async (sealing) => ({
        deviceKeys: await Promise.all(bindings.map((binding) => sealDeviceKey(sealing, binding))),
        sealedSeed: seed && (await sealing.seal(seed, SEED_PLACE)),
        sealedKey: key && (await sealRoamingKey(sealing, seen.id, key)),
      }),
      ({ deviceKeys, sealedSeed, sealedKey }) => {
        if (replace) this.#database.exec('DELETE FROM bindings');
        if (sealedSeed)
          this.#database.prepare("INSERT OR REPLACE INTO secrets VALUES ('device-seed', ?)").run(sealedSeed);
        bindings.forEach((binding, index) => {
          insertBinding(this.#database, binding, deviceKeys[index], now);
        });
        saveRoaming(this.#database, seen, sealedKey);
      },
    );
  }

  /** Removes all of a binding, also while locked. @returns whether it was overwritten, as far as this program reaches */
  forgetBinding(id: number): boolean {
    this.#sealed.write(() => this.#database.prepare('DELETE FROM bindings WHERE id = ?').run(id));
    return this.#overwrite();
  }

  /** Removes everything but the empty database. The Reader is locked then. Returns as {@link forgetBinding}. */
  forgetAll(): boolean {
    const tables = this.#database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .all();
    this.#sealed.write(() => {
      for (const { name } of tables) this.#database.exec(`DELETE FROM "${name}"`);
    });
    this.#sealed.lock();
    return this.#overwrite();
  }

  /** `secure_delete` has written zeros over the rows; this copies them to the file, empties the log that still has them, and frees their pages. */
  #overwrite(): boolean {
    try {
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
      return true;
    } catch {
      return false; // space is missing: what was asked for is done all the same
    }
  }
}

async function sealRoamingKey(sealing: Sealing, id: string, { salt, stretched }: RoamingKey) {
  return { salt, sealed: await sealing.seal(stretched, roamingPlace(id, salt)) };
}

/** To be called in a transaction. With a key, the line becomes the one that this device writes. */
function saveRoaming(
  database: DatabaseSync,
  { id, number, digest, written }: RoamingRecord,
  key?: { readonly salt: Uint8Array; readonly sealed: Uint8Array },
): void {
  database
    .prepare(
      `INSERT INTO roaming (id, number, digest, written) VALUES (?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET number = excluded.number, digest = excluded.digest, written = excluded.written
       WHERE excluded.number >= number`,
    )
    .run(id, number, digest, written);
  if (key === undefined) return;
  database.prepare('UPDATE roaming SET salt = NULL, key = NULL WHERE id <> ?').run(id);
  database.prepare('UPDATE roaming SET salt = ?, key = ? WHERE id = ?').run(key.salt, key.sealed, id);
}

function seenIn({ id, number, digest, written }: Row): RoamingRecord {
  if (!(digest instanceof Uint8Array)) throw damaged('table roaming', 'a digest is missing');
  return { id: String(id), number: Number(number), digest, written: Number(written) };
}
