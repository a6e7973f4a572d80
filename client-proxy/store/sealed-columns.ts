/** Every column that holds a secret, and the place that each is sealed for: one list, so that a change of the key leaves none behind. */
import type { DatabaseSync } from 'node:sqlite';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { KEY_LENGTH } from '../../core/keys/key-id.ts';
import { damaged } from './database.ts';
import type { Place, Sealing } from './sealing.ts';

type Row = Readonly<Record<string, unknown>>;

interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** The columns that name a row. */
  readonly names: readonly string[];
  readonly place: (row: Row) => Place;
}

export const SEED_PLACE: Place = ['secrets', 'device-seed'];

export function devicePlace(keyServer: string, publisher: string, deviceKeyId: string): Place {
  return ['bindings', 'device_key', keyServer, publisher, deviceKeyId];
}

export function setKeyPlace(binding: number, id: string, notBefore: number, notAfter: number): Place {
  return ['set_keys', 'key', binding, id, notBefore, notAfter];
}

export function roamingPlace(id: string, salt: Uint8Array): Place {
  return ['roaming', 'key', id, toBase64url(salt)];
}

const SEALED: readonly SealedColumn[] = [
  { table: 'secrets', column: 'value', names: ['name'], place: ({ name }) => ['secrets', String(name)] },
  {
    table: 'bindings',
    column: 'device_key',
    names: ['id'],
    place: (row) => devicePlace(String(row.key_server), String(row.publisher), String(row.device_key_id)),
  },
  {
    table: 'set_keys',
    column: 'key',
    names: ['binding', 'id'],
    place: (row) => setKeyPlace(Number(row.binding), String(row.id), Number(row.not_before), Number(row.not_after)),
  },
  {
    table: 'roaming',
    column: 'key',
    names: ['id'],
    place: (row) => roamingPlace(String(row.id), row.salt as Uint8Array),
  },
];

/**
 * Seals every secret anew. To be called in a transaction of a connection of its own.
 *
 * @throws ReaderError `store-damaged` if one of them cannot be opened
 */
export async function sealAnew(database: DatabaseSync, before: Sealing, after: Sealing): Promise<void> {
  for (const { table, column, names, place } of SEALED) {
    const rows = database.prepare(`SELECT * FROM ${table} WHERE ${column} IS NOT NULL`).all();
    const row = names.map((name) => `${name} = ?`).join(' AND ');
    const update = database.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${row}`);
    for (const values of rows) {
      const secret = await unseal(before, values[column], place(values));
      const named = names.map((name) => values[name] as string | number);
      update.run(await after.seal(secret, place(values)), ...named);
    }
  }
}

/**
 * One secret of {@link KEY_LENGTH} bytes.
 *
 * @throws ReaderError `store-damaged`
 */
export async function unseal(sealing: Sealing, sealed: unknown, place: Place): Promise<Uint8Array> {
  const secret = sealed instanceof Uint8Array ? await sealing.open(sealed, place) : undefined;
  if (secret?.length !== KEY_LENGTH) throw damaged(`table ${place[0]}`, 'a sealed key cannot be opened');
  return secret;
}
