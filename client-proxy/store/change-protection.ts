/** Puts the key of a database somewhere else, or makes a new one where it is: every secret is sealed anew, in one transaction. */
import type { DatabaseSync } from 'node:sqlite';
import { randomBytes } from '#primitives';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { ReaderError } from '../errors.ts';
import { openDatabase, unwritable } from './database.ts';
import { createCheck, type KeyPlace, type Protection, readProtection, writeProtection } from './protection.ts';
import { sealAnew } from './sealed-columns.ts';
import type { Sealing } from './sealing.ts';
import { discardKey, type NewKey, openSealing } from './storage-key.ts';
import type { StoreOptions } from './store.ts';

export interface ProtectionChange {
  readonly before: KeyPlace['kind'];
  readonly after: KeyPlace['kind'];
  /** Whether the key of before is gone: `false` where the keyring did not let go of it, or the key file may serve other databases. */
  readonly discarded: boolean;
}

/**
 * Whenever it is interrupted, the database opens with the key of before or with the new one.
 *
 * @param makeKey - called once the database is open with the key of before
 * @throws ReaderError of the store; nothing was changed then
 */
export async function changeProtection(
  { directory, ...options }: StoreOptions,
  makeKey: () => NewKey | Promise<NewKey>,
): Promise<ProtectionChange> {
  const { database } = openDatabase(directory);
  try {
    const { sealing, protection } = await openSealing(database, options);
    const made = await makeKey();
    try {
      await replace(database, sealing, protection, made);
    } catch (error) {
      await discardKey(made.place);
      throw error instanceof ReaderError ? error : unwritable(error, database.location());
    }
    const { kind } = protection.place;
    const discarded = (await discardKey(protection.place)) && kind !== 'key-file';
    return { before: kind, after: made.place.kind, discarded };
  } finally {
    database.close();
  }
}

async function replace(database: DatabaseSync, before: Sealing, known: Protection, made: NewKey): Promise<void> {
  const storeId = randomBytes(16);
  const { sealing, check } = await createCheck(made.key, storeId);
  database.exec('BEGIN IMMEDIATE');
  try {
    const now = readProtection(database);
    if (now === undefined || !equalBytes(now.check, known.check)) throw changedMeanwhile();
    await sealAnew(database, before, sealing);
    writeProtection(database, { storeId, place: made.place, check });
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)'); // what was sealed under the key of before is no longer in the log either
}

function changedMeanwhile(): ReaderError {
  return new ReaderError('store-busy', "another program changed the protection of the reader's database just now", {
    hint: 'try again; this one changed nothing',
  });
}
