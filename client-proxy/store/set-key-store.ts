/** Set keys: what a device can read with. One row each, sealed. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { KeyId } from '../../core/keys/key-id.ts';
import type { SetKey } from '../../core/object/document-reader.ts';
import { sealedDeviceKey } from './binding-rows.ts';
import { setKeyPlace, unseal } from './sealed-columns.ts';
import type { SealedDatabase } from './sealed-database.ts';
import { isOfTheDisk, type Unkept } from './unkept.ts';
import type { SetKeyRow } from './unkept-keys.ts';

/** A key that this device has, and when it is good: seconds since 1970. */
export interface KeyTime {
  readonly id: KeyId;
  readonly notBefore: number;
  readonly notAfter: number;
}

export class SetKeyStore {
  readonly #database: DatabaseSync;
  readonly #sealed: SealedDatabase;
  readonly #unkept: Unkept;
  readonly #select: StatementSync;

  constructor(database: DatabaseSync, sealed: SealedDatabase, unkept: Unkept) {
    this.#database = database;
    this.#sealed = sealed;
    this.#unkept = unkept;
    this.#select = database.prepare('SELECT not_before, not_after, key FROM set_keys WHERE binding = ? AND id = ?');
  }

  /** When the keys of a binding are good; those that end last, first. */
  times(binding: number): KeyTime[] {
    return this.#database
      .prepare('SELECT id, not_before, not_after FROM set_keys WHERE binding = ? ORDER BY not_after DESC, id')
      .all(binding)
      .map((row) => ({ id: row.id as KeyId, notBefore: Number(row.not_before), notAfter: Number(row.not_after) }));
  }

  get(binding: number, id: KeyId): Promise<SetKey | undefined> {
    return this.#sealed.use(async (sealing) => {
      const row = this.#select.get(binding, id);
      if (row === undefined) return undefined;
      const [notBefore, notAfter] = [Number(row.not_before), Number(row.not_after)];
      const key = await unseal(sealing, row.key, setKeyPlace(binding, id, notBefore, notAfter));
      return { key, notBefore, notAfter };
    });
  }

  /** Keeps set keys, as far as there is room: the caller, who has checked that each hashes to its id, has them. They come often and change no binding, so the store's version stays. */
  save(binding: number, keys: ReadonlyMap<KeyId, SetKey>): Promise<void> {
    return this.#sealed.use(async (sealing) => {
      const rows = await Promise.all(
        Array.from(keys, async ([id, { key, notBefore, notAfter }]): Promise<SetKeyRow> => {
          const sealed = await sealing.seal(key, setKeyPlace(binding, id, notBefore, notAfter));
          return [binding, id, notBefore, notAfter, sealed];
        }),
      );
      const deviceKey = sealedDeviceKey(this.#database, binding);
      try {
        this.#write(() => rows);
      } catch (error) {
        if (!isOfTheDisk(error)) throw error;
        this.#wait(binding, rows, deviceKey, error);
      }
    });
  }

  /** @param deviceKey - of the binding, sealed by what has sealed these rows */
  #wait(binding: number, rows: readonly SetKeyRow[], deviceKey: Uint8Array | undefined, error: unknown): void {
    const waiting = this.#unkept.keysOf(binding);
    waiting.add(rows, deviceKey);
    const write = () => {
      try {
        this.#write(() => waiting.under(sealedDeviceKey(this.#database, binding)));
      } catch (cause) {
        if (isOfTheDisk(cause)) throw cause;
      }
      waiting.clear();
    };
    this.#unkept.wait('fetchable', `keys ${binding}`, write, error);
  }

  #write(rows: () => Iterable<SetKeyRow>): void {
    const insert = this.#database.prepare('INSERT OR REPLACE INTO set_keys VALUES (?, ?, ?, ?, ?)');
    this.#sealed.writeSealed(() => {
      for (const row of rows()) insert.run(...row);
    }, true);
  }
}
