/** Room on the disk for what has to be kept whatever happens. */
import type { DatabaseSync } from 'node:sqlite';
import { unwritable } from './database.ts';

/** What a transaction takes besides what is written: pages that are begun, and those of the trees above. */
const BESIDE = 65_536;

/**
 * Makes the database's files so large that as many bytes can be written next without any more of the disk. A run that is ended in between leaves
 * a row that the next one replaces.
 *
 * @param write - one transaction
 * @throws ReaderError `disk-full`, `store-busy`, `store-unwritable`, and whatever `write` throws
 */
export function takeRoom(database: DatabaseSync, write: (work: () => void) => void, bytes: number): void {
  const name = 'room';
  const fill = database.prepare('INSERT OR REPLACE INTO storage (name, value) VALUES (?, zeroblob(?))');
  const remove = database.prepare('DELETE FROM storage WHERE name = ?');
  write(() => fill.run(name, bytes + BESIDE));
  write(() => remove.run(name));
  try {
    database.exec('PRAGMA wal_checkpoint(PASSIVE)'); // the log begins anew, in the room that it has
  } catch (error) {
    throw unwritable(error, database.location());
  }
}
