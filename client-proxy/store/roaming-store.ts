/** What the database knows of roaming files: the highest number it has seen of each line, and how to write the next of its own. */
import type { DatabaseSync } from 'node:sqlite';
import { damaged } from './errors.ts';
import { roamingPlace, type Sealing, unseal } from './sealing.ts';
import type { RoamingKey, Row, SeenRoaming } from './types.ts';

export interface OwnRoaming extends SeenRoaming {
  readonly key: RoamingKey;
}

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
