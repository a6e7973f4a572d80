/** Set keys, what a device can read with, and period keys, which open set keys. One row each, sealed. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { KeyId } from '../../core/crypto/key-id.ts';
import type { SetKey } from '../../core/object/document-reader.ts';
import type { SealedDatabase } from './sealed-database.ts';
import { type KeyTable, keyPlace, type Sealing, unseal } from './sealing.ts';

/** A key that this device has, and when it is good: seconds since 1970. */
export interface KeyTime {
  readonly id: KeyId;
  readonly notBefore: number;
  readonly notAfter: number;
}

export class KeyStore {
  readonly #table: KeyTable;
  readonly #database: DatabaseSync;
  readonly #sealed: SealedDatabase;
  readonly #select: StatementSync;

  constructor(sealed: SealedDatabase, table: KeyTable) {
    this.#table = table;
    this.#database = sealed.database;
    this.#sealed = sealed;
    this.#select = sealed.database.prepare(
      `SELECT not_before, not_after, key FROM ${table} WHERE binding = ? AND id = ?`,
    );
  }

  /** Lists when the keys of a binding are good; those that end last, first. */
  times(binding: number): KeyTime[] {
    return this.#database
      .prepare(`SELECT id, not_before, not_after FROM ${this.#table} WHERE binding = ? ORDER BY not_after DESC, id`)
      .all(binding)
      .map((row) => ({ id: row.id as KeyId, notBefore: Number(row.not_before), notAfter: Number(row.not_after) }));
  }

  get(binding: number, id: KeyId): Promise<SetKey | undefined> {
    return this.#sealed.use(async (sealing) => {
      const row = this.#select.get(binding, id);
      if (row === undefined) return undefined;
      const [notBefore, notAfter] = [Number(row.not_before), Number(row.not_after)];
      const key = await unseal(sealing, row.key, keyPlace(this.#table, binding, id, notBefore, notAfter));
      return { key, notBefore, notAfter };
    });
  }

  /** Removes keys whose time is over. @param now - seconds since 1970 */
  removeEnded(binding: number, now: number): void {
    const remove = this.#database.prepare(`DELETE FROM ${this.#table} WHERE binding = ? AND not_after < ?`);
    if (this.times(binding).some(({ notAfter }) => notAfter < now))
      this.#sealed.writeQuietly(() => remove.run(binding, now));
  }

  /**
   * Saves keys that hash to their ids; none where the binding was forgotten meanwhile. They come often and change no binding, so the
   * store's version stays.
   *
   * @throws ReaderError `reader-locked`, `disk-full`, `store-unwritable`
   */
  save(binding: number, keys: ReadonlyMap<KeyId, SetKey>): Promise<void> {
    const insert = this.#database.prepare(
      `INSERT OR REPLACE INTO ${this.#table} SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM bindings WHERE id = ?1)`,
    );
    const seal = async (sealing: Sealing, id: KeyId, { key, notBefore, notAfter }: SetKey) => {
      const sealed = await sealing.seal(key, keyPlace(this.#table, binding, id, notBefore, notAfter));
      return [binding, id, notBefore, notAfter, sealed] as const;
    };
    return this.#sealed.writeSealed(
      (sealing) => Promise.all(Array.from(keys, ([id, key]) => seal(sealing, id, key))),
      (rows) => {
        for (const row of rows) insert.run(...row);
      },
      { quietly: true },
    );
  }
}
