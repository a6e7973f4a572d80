/** Set keys of one binding that could not be written. They can be fetched again, so where they are many, those that came first are dropped. */
import { equalBytes } from '../../core/encoding/bytes.ts';
import type { KeyId } from '../../core/keys/key-id.ts';
import { LIMITS } from '../limits.ts';

/** Binding, id, not before, not after, and the key, sealed. */
export type SetKeyRow = readonly [number, KeyId, number, number, Uint8Array];

const NOTHING = new Uint8Array(0);

export class UnkeptKeys {
  readonly #rows = new Map<KeyId, SetKeyRow>();
  #deviceKey: Uint8Array | undefined;

  /** @param deviceKey - of the binding, as it is sealed in the database now */
  add(rows: Iterable<SetKeyRow>, deviceKey: Uint8Array | undefined): void {
    if (!this.#isUnder(deviceKey)) this.clear();
    this.#deviceKey = deviceKey;
    for (const row of rows) this.#rows.set(row[1], row);
    for (const id of this.#rows.keys()) {
      if (this.#rows.size <= LIMITS.unkeptKeys) return;
      this.#rows.delete(id);
    }
  }

  /**
   * Those that may be written. Where the device key is sealed in another way now, the binding was forgotten and its number is another's, or
   * all is sealed under another key: then they are nobody's.
   */
  under(deviceKey: Uint8Array | undefined): Iterable<SetKeyRow> {
    return this.#isUnder(deviceKey) ? this.#rows.values() : [];
  }

  clear(): void {
    this.#rows.clear();
  }

  #isUnder(deviceKey: Uint8Array | undefined): boolean {
    return equalBytes(this.#deviceKey ?? NOTHING, deviceKey ?? NOTHING);
  }
}
