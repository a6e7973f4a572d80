/** Every row that is sealed by the vault, but the canary. A test finds a column of the schema that is missing here. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { TICKET_KEY_PLACE } from '../http/ticket-keys.ts';
import { setPlace } from '../publication/import-bundle.ts';
import { timestampKeyPlace } from '../publication/key.ts';
import { periodPlace } from '../publication/period-keys.ts';
import { devicePlace } from '../readers/devices.ts';
import type { Database } from '../storage/database.ts';
import { secretPlace } from '../storage/secrets.ts';
import { recipientPlace } from '../storage/state.ts';
import type { Place } from '../storage/vault.ts';

export type SealedRow = Readonly<Record<string, unknown>> & { readonly sealed: Uint8Array };

/** A table with sealed values, in a column `sealed`. */
export interface SealedTable {
  readonly table: string;
  /** The primary key. */
  readonly key: string;
  /** Less than every primary key. */
  readonly start: number | string;
  readonly placeOf: (row: SealedRow) => Place | Promise<Place>;
}

export const SEALED_TABLES: readonly SealedTable[] = [
  { table: 'recipient', key: 'id', start: -1, placeOf: (row) => recipientPlace(row.public_key as Uint8Array) },
  {
    table: 'former_recipients',
    key: 'key_id',
    start: '',
    placeOf: (row) => recipientPlace(row.public_key as Uint8Array),
  },
  { table: 'secrets', key: 'name', start: '', placeOf: ({ name }) => secretPlace(String(name)) },
  { table: 'timestamp_key', key: 'id', start: -1, placeOf: ({ key_id }) => timestampKeyPlace(String(key_id)) },
  { table: 'ticket_key', key: 'id', start: -1, placeOf: () => TICKET_KEY_PLACE },
  { table: 'sets', key: 'id', start: '', placeOf: ({ id }) => setPlace(id as KeyId) },
  { table: 'periods', key: 'id', start: '', placeOf: ({ id }) => periodPlace(id as KeyId) },
  {
    table: 'devices',
    key: 'id',
    start: -1,
    placeOf: ({ keys_digest, key_id }) => devicePlace(String(keys_digest), key_id as KeyId),
  },
];

/** Rows that are not under a version of the master key, and come after a primary key, in its order. A device that waits for a new key has none. */
export function rowsNotUnder(
  database: Database,
  { table, key }: SealedTable,
  { version, after, limit }: { readonly version: Uint8Array; readonly after: number | string; readonly limit: number },
): Promise<SealedRow[]> {
  const sql = `SELECT * FROM ${table} WHERE ${key} > ? AND length(sealed) > 0 AND substr(sealed, 1, 4) <> ? ORDER BY ${key} LIMIT ${limit}`;
  return database.all<SealedRow>(sql, after, version);
}
