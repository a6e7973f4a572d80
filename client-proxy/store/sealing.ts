/**
 * Secrets at rest: AES-256-GCM, the place they belong to in the additional data, so that no row can stand in for another. All columns that hold
 * one are listed here, so that a change of the key leaves none behind.
 */
import type { DatabaseSync } from 'node:sqlite';
import { aes256GcmOpen, aes256GcmSeal, randomBytes } from '#primitives';
import { hkdfExpand } from '../../core/crypto/hkdf.ts';
import { KEY_LENGTH } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { concat, lengthPrefixed, utf8 } from '../../core/encoding/bytes.ts';
import { damaged } from './errors.ts';
import type { Row } from './types.ts';

const NONCE_LENGTH = 12;

/** Table, column, and whatever names the row and must not be changed beside the secret. */
export type CellRef = readonly (string | number)[];

export class Sealing {
  readonly #key: Uint8Array;

  private constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** @param storeId - random, of one database: two databases under one storage key share no key */
  static async create(storageKey: Uint8Array, storeId: Uint8Array): Promise<Sealing> {
    return new Sealing(await hkdfExpand(storageKey, lengthPrefixed(utf8('wispr/1 reader store'), storeId), 32));
  }

  /** nonce (12) || ciphertext || tag (16). */
  async seal(secret: Uint8Array, place: CellRef): Promise<Uint8Array> {
    const nonce = randomBytes(NONCE_LENGTH);
    return concat(nonce, await aes256GcmSeal(this.#key, nonce, secret, additionalData(place)));
  }

  /** `undefined` if it was not sealed under this key, for this place. */
  async open(sealed: Uint8Array, place: CellRef): Promise<Uint8Array | undefined> {
    const [nonce, body] = [sealed.subarray(0, NONCE_LENGTH), sealed.subarray(NONCE_LENGTH)];
    return nonce.length === NONCE_LENGTH ? aes256GcmOpen(this.#key, nonce, body, additionalData(place)) : undefined;
  }
}

function additionalData(place: CellRef): Uint8Array {
  return lengthPrefixed(utf8('wispr/1 reader secret'), ...place.map((part) => utf8(String(part))));
}

interface SealedColumn {
  readonly table: string;
  readonly column: string;
  readonly names: readonly string[];
  readonly place: (row: Row) => CellRef;
}

export const SEED_PLACE: CellRef = ['secrets', 'device-seed'];

export function devicePlace(keyServer: string, publisher: string, deviceKeyId: string): CellRef {
  return ['bindings', 'device_key', keyServer, publisher, deviceKeyId];
}

/** Tables of keys with the times at which they are good. */
export type KeyTable = 'period_keys' | 'set_keys';

export function keyPlace(table: KeyTable, binding: number, id: string, notBefore: number, notAfter: number): CellRef {
  return [table, 'key', binding, id, notBefore, notAfter];
}

function sealedKeys(table: KeyTable): SealedColumn {
  const place = (row: Row) =>
    keyPlace(table, Number(row.binding), String(row.id), Number(row.not_before), Number(row.not_after));
  return { table, column: 'key', names: ['binding', 'id'], place };
}

export function roamingPlace(id: string, salt: Uint8Array): CellRef {
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
  sealedKeys('set_keys'),
  sealedKeys('period_keys'),
  {
    table: 'roaming',
    column: 'key',
    names: ['id'],
    place: (row) => roamingPlace(String(row.id), row.salt as Uint8Array),
  },
];

/** Seals all anew. @returns what writes it in a transaction, if nothing changed since @throws ReaderError `store-damaged` */
export async function sealAnew(database: DatabaseSync, previous: Sealing, next: Sealing): Promise<() => void> {
  const writes: (() => void)[] = [];
  for (const { table, column, names, place } of SEALED) {
    const rows = database.prepare(`SELECT * FROM ${table} WHERE ${column} IS NOT NULL`).all();
    const row = names.map((name) => `${name} = ?`).join(' AND ');
    const update = database.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${row}`);
    for (const values of rows) {
      const secret = await unseal(previous, values[column], place(values));
      const named = names.map((name) => values[name] as string | number);
      const sealed = await next.seal(secret, place(values));
      writes.push(() => update.run(sealed, ...named));
    }
  }
  return () => {
    for (const write of writes) write();
  };
}

/** Secret of {@link KEY_LENGTH} bytes. @throws ReaderError `store-damaged` */
export async function unseal(sealing: Sealing, sealed: unknown, place: CellRef): Promise<Uint8Array> {
  const secret = sealed instanceof Uint8Array ? await sealing.open(sealed, place) : undefined;
  if (secret?.length !== KEY_LENGTH) throw damaged(`table ${place[0]}`, 'a sealed key cannot be opened');
  return secret;
}
