/** What the database knows of roaming files: the highest number it has seen of each line, and how to write the next of its own. */
import type { DatabaseSync } from 'node:sqlite';
import { damaged } from './database.ts';
import { roamingPlace, unseal } from './sealed-columns.ts';
import type { Sealing } from './sealing.ts';

/** The newest file of a line that this device has seen. */
export interface SeenRoaming {
  readonly id: string;
  readonly number: number;
  /** SHA-256 of the file. */
  readonly digest: Uint8Array;
  /** Seconds since 1970. */
  readonly written: number;
}

/** What opens the files of a line without the words. */
export interface RoamingKey {
  readonly salt: Uint8Array;
  readonly stretched: Uint8Array;
}

export interface OwnRoaming extends SeenRoaming {
  readonly key: RoamingKey;
}

type Row = Readonly<Record<string, unknown>>;

export function findRoaming(database: DatabaseSync, id: string): SeenRoaming | undefined {
  const row = database.prepare('SELECT * FROM roaming WHERE id = ?').get(id);
  return row && seenIn(row);
}

/** The line that this device writes, as far as it shows while the Reader is locked. */
export function findOwnRoaming(database: DatabaseSync): SeenRoaming | undefined {
  const row = database.prepare('SELECT * FROM roaming WHERE key IS NOT NULL').get();
  return row && seenIn(row);
}

export async function openOwnRoaming(database: DatabaseSync, sealing: Sealing): Promise<OwnRoaming | undefined> {
  const row = database.prepare('SELECT * FROM roaming WHERE key IS NOT NULL').get();
  if (row === undefined) return undefined;
  const { salt } = row;
  if (!(salt instanceof Uint8Array)) throw damaged('table roaming', 'a salt is missing');
  return {
    ...seenIn(row),
    key: { salt, stretched: await unseal(sealing, row.key, roamingPlace(String(row.id), salt)) },
  };
}

export async function sealRoamingKey(sealing: Sealing, id: string, { salt, stretched }: RoamingKey) {
  return { salt, sealed: await sealing.seal(stretched, roamingPlace(id, salt)) };
}

/** To be called in a transaction. With a key, the line becomes the one that this device writes. */
export function saveRoaming(
  database: DatabaseSync,
  { id, number, digest, written }: SeenRoaming,
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

function seenIn({ id, number, digest, written }: Row): SeenRoaming {
  if (!(digest instanceof Uint8Array)) throw damaged('table roaming', 'a digest is missing');
  return { id: String(id), number: Number(number), digest, written: Number(written) };
}
