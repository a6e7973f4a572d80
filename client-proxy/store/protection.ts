/** Protection of a database, as the table `storage` has it: where its storage key is, and what shows that the right one is at hand. */
import type { DatabaseSync } from 'node:sqlite';
import { randomBytes } from '#primitives';
import { utf8 } from '../../core/encoding/bytes.ts';
import {
  canonicalJson,
  hasMembers,
  isJsonObject,
  type JsonObject,
  parseCanonicalJson,
} from '../../core/encoding/canonical-json.ts';
import { type Argon2idParameters, areArgon2idParameters } from '../../node-support/argon2id.ts';
import { damaged } from './errors.ts';
import { Sealing } from './sealing.ts';

export const STORAGE_KEY_LENGTH = 32;
const CHECK = utf8('wispr/1 reader store');
const CHECK_PLACE = ['storage', 'check'] as const;
const ENTRY = /^reader [A-Za-z0-9_-]{22}$/;

export type KeyLocation =
  | { readonly kind: 'key-file' }
  | { readonly kind: 'passphrase'; readonly parameters: Argon2idParameters }
  /** `entry`: its name in the system's keyring. */
  | { readonly kind: 'keyring'; readonly entry: string };

export interface Protection {
  /** Random; another one whenever the storage key changes. */
  readonly storeId: Uint8Array;
  readonly place: KeyLocation;
  readonly check: Uint8Array;
}

/** Makes the sealing under a key, and what is written of it, for a database that has had none, or changes its key. */
export async function newProtection(
  key: Uint8Array,
  place: KeyLocation,
): Promise<{ readonly sealing: Sealing; readonly protection: Protection }> {
  const storeId = randomBytes(16);
  const sealing = await Sealing.create(key, storeId);
  return { sealing, protection: { storeId, place, check: await sealing.seal(CHECK, CHECK_PLACE) } };
}

/** `undefined` if this is not the storage key. */
export async function openWith(key: Uint8Array, { storeId, check }: Protection): Promise<Sealing | undefined> {
  const sealing = await Sealing.create(key, storeId);
  return (await sealing.open(check, CHECK_PLACE)) === undefined ? undefined : sealing;
}

/** `undefined` in a fresh database. @throws ReaderError `store-damaged` */
export function readProtection(database: DatabaseSync): Protection | undefined {
  const rows = database.prepare('SELECT name, value FROM storage').all();
  if (rows.length === 0) return undefined;
  const values = new Map(rows.map(({ name, value }) => [String(name), value]));
  const [storeId, protection, check] = [values.get('id'), values.get('protection'), values.get('check')];
  if (!(storeId instanceof Uint8Array && protection instanceof Uint8Array && check instanceof Uint8Array))
    throw damaged('table storage', 'a row is missing');
  const parsed = parseCanonicalJson(protection);
  if (!isJsonObject(parsed)) throw damaged('table storage', 'its protection is not readable');
  return { storeId, check, place: readPlace(parsed) };
}

function readPlace(value: JsonObject): KeyLocation {
  if (Object.keys(value).length === 0) return { kind: 'key-file' };
  if (hasMembers(value, ['keyring'])) {
    const { keyring: entry } = value;
    if (typeof entry === 'string' && ENTRY.test(entry)) return { kind: 'keyring', entry };
    throw damaged('table storage', 'the name of its entry in the keyring is none');
  }
  if (!areArgon2idParameters(value))
    throw damaged('table storage', 'the parameters of the passphrase are out of bounds');
  return { kind: 'passphrase', parameters: value };
}

/** To be called in a transaction. */
export function writeProtection(database: DatabaseSync, { storeId, place, check }: Protection): void {
  const insert = database.prepare('INSERT OR REPLACE INTO storage (name, value) VALUES (?, ?)');
  insert.run('id', storeId);
  insert.run('protection', canonicalJson(describePlace(place)));
  insert.run('check', check);
}

function describePlace(place: KeyLocation): JsonObject {
  if (place.kind === 'passphrase') return { ...place.parameters };
  return place.kind === 'keyring' ? { keyring: place.entry } : {};
}
