/** The passkeys of one kind of people, in a table of its own: each row ends with its owner. */
import { readProgramFile } from '../../node-support/program-files.ts';
import { fileOf } from '../../node-support/web-reader-files.ts';
import type { Database } from '../storage/database.ts';

/** The script of both ceremonies, for pages with forms that have `data-passkey`: the file says how. */
export const PASSKEY_SCRIPT = fileOf(readProgramFile('passkeys.js', import.meta.url));

/** The tables, all of the same columns: schema.ts, `passkeyTable`. */
export type PasskeyTable = 'operator_passkeys' | 'reader_passkeys';

export const MAXIMUM_PASSKEYS = 20;
const MAXIMUM_LABEL_LENGTH = 40;

/** A passkey as its owner sees it. */
export interface ListedPasskey {
  /** Credential id, base64url. */
  readonly id: string;
  readonly label: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly lastUsed: number | null;
}

export interface StoredPasskey {
  readonly owner: number;
  /** COSE key. */
  readonly publicKey: Uint8Array;
  /** Signatures so far, as the authenticator counts; many always say 0. */
  readonly counter: number;
}

/** The passkeys of an owner, the oldest first. */
export function passkeysOf(database: Database, table: PasskeyTable, owner: number): Promise<ListedPasskey[]> {
  const sql = `SELECT id, label, created, last_used AS "lastUsed" FROM ${table} WHERE owner = ? ORDER BY created, id`;
  return database.all<ListedPasskey>(sql, owner);
}

export function findPasskey(database: Database, table: PasskeyTable, id: string): Promise<StoredPasskey | undefined> {
  const sql = `SELECT owner, public_key AS "publicKey", counter FROM ${table} WHERE id = ?`;
  return database.first<StoredPasskey>(sql, id);
}

/** @returns whether it was added: not where the owner has {@link MAXIMUM_PASSKEYS}, or the id is known */
export function addPasskey(
  database: Database,
  table: PasskeyTable,
  { owner, publicKey, counter, id, label, created }: Omit<ListedPasskey, 'lastUsed'> & StoredPasskey,
): Promise<boolean> {
  return database.transaction(async () => {
    if ((await passkeysOf(database, table, owner)).length >= MAXIMUM_PASSKEYS) return false;
    const sql = `INSERT INTO ${table} (id, owner, label, public_key, counter, created) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO NOTHING`;
    return (await database.run(sql, id, owner, labelOf(label), publicKey, counter, created)) === 1;
  });
}

/** Notes a use. @returns whether the passkey is there still, and the counter has grown or counts nothing */
export async function recordPasskeyUse(
  database: Database,
  table: PasskeyTable,
  id: string,
  counter: number,
  now: number,
): Promise<boolean> {
  const sql = `UPDATE ${table} SET counter = ?, last_used = ? WHERE id = ? AND (counter < ? OR (counter = 0 AND counter = ?))`;
  return (await database.run(sql, counter, now, id, counter, counter)) === 1;
}

/** @returns whether the owner had it */
export async function removePasskey(
  database: Database,
  table: PasskeyTable,
  owner: number,
  id: string,
): Promise<boolean> {
  return (await database.run(`DELETE FROM ${table} WHERE id = ? AND owner = ?`, id, owner)) === 1;
}

/** Makes one line, never empty. */
function labelOf(text: string): string {
  const label = text.replace(/[\p{C}\s]+/gu, ' ').trim();
  return Array.from(label).slice(0, MAXIMUM_LABEL_LENGTH).join('').trim() || 'Passkey';
}
