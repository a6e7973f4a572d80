/** Secrets that a key server keeps in its database, opened. */
import { rowsNotUnder, SEALED_TABLES } from '../../keyserver/operations/sealed-rows.ts';
import type { KeyServerState } from '../../keyserver/storage/state.ts';

/** Maps table and primary key to the secret, in hexadecimal. Rejects where one does not open. */
export async function openSealedRows({ database, vault }: KeyServerState): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const table of SEALED_TABLES) {
    const rows = await rowsNotUnder(database, table, { version: new Uint8Array(4), after: table.start, limit: 1000 });
    for (const row of rows) {
      const opened = await vault.open(await table.refOf(row), row.sealed);
      found.set(`${table.table} ${row[table.key]}`, Buffer.from(opened).toString('hex'));
    }
  }
  return found;
}
