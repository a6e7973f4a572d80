/** Lists the rows that the vault seals, but the canary. A test finds a column of the schema that is missing here. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { TICKET_KEY_ROW } from '../http/ticket-keys.ts';
import { setRow } from '../publication/import-bundle.ts';
import { timestampKeyRow } from '../publication/key.ts';
import { periodRow } from '../publication/period-keys.ts';
import { deviceRow } from '../readers/devices.ts';
import type { Database } from '../storage/database.ts';
import { secretRow } from '../storage/secrets.ts';
import { recipientRow } from '../storage/state.ts';
import type { RowRef } from '../storage/vault.ts';

export type SealedRow = Readonly<Record<string, unknown>> & { readonly sealed: Uint8Array };

/** A table with sealed values, in a column `sealed`. */
export interface SealedTable {
  readonly table: string;
  readonly key: string;
  /** A value less than every primary key. */
  readonly start: number | string;
  readonly refOf: (row: SealedRow) => RowRef | Promise<RowRef>;
}

const refOfRecipient = (row: SealedRow) => recipientRow(row.public_key as Uint8Array);
const refOfDevice = (row: SealedRow) => deviceRow(String(row.keys_digest), row.key_id as KeyId);

export const SEALED_TABLES: readonly SealedTable[] = [
  { table: 'recipient', key: 'id', start: -1, refOf: refOfRecipient },
  { table: 'former_recipients', key: 'key_id', start: '', refOf: refOfRecipient },
  { table: 'secrets', key: 'name', start: '', refOf: ({ name }) => secretRow(String(name)) },
  { table: 'timestamp_key', key: 'id', start: -1, refOf: ({ key_id }) => timestampKeyRow(String(key_id)) },
  { table: 'ticket_key', key: 'id', start: -1, refOf: () => TICKET_KEY_ROW },
  { table: 'sets', key: 'id', start: '', refOf: ({ id }) => setRow(id as KeyId) },
  { table: 'periods', key: 'id', start: '', refOf: ({ id }) => periodRow(id as KeyId) },
  { table: 'devices', key: 'id', start: -1, refOf: refOfDevice },
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
