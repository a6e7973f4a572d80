/** Copies every row, as it is, from SQLite to PostgreSQL. */
import type { Database, Value } from './database.ts';

/** Rows of one statement: the fewest columns are one, and PostgreSQL takes 65,535 values. */
const ROWS_AT_ONCE = 500;

/**
 * Copies all rows into a database that has the same schema, and no rows. Belongs into a transaction of `to`; meanwhile nothing writes to `from`.
 *
 * @param from - SQLite
 * @param to - PostgreSQL
 */
export async function copyRows(from: Database, to: Database): Promise<void> {
  // Tables come in the order in which they were made: what a table refers to is older.
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid";
  const tables = await from.all<{ name: string }>(sql);
  for (const { name } of tables) await copyTable(from, to, name);
}

async function copyTable(from: Database, to: Database, table: string): Promise<void> {
  const columns = await from.all<{ name: string; type: string }>('SELECT name, type FROM pragma_table_info(?)', table);
  const names = columns.map(({ name }) => name);
  // Members refer to their group.
  const parts = names.includes('member_of') ? ['member_of IS NULL', 'member_of IS NOT NULL'] : ['true'];
  for (const part of parts) {
    for (let done = 0; ; done += ROWS_AT_ONCE) {
      const sql = `SELECT ${names.join(', ')} FROM ${table} WHERE ${part} LIMIT ? OFFSET ?`;
      const rows = await from.all<Record<string, Value>>(sql, ROWS_AT_ONCE, done);
      if (rows.length === 0) break;
      const places = rows.map(() => `(${names.map(() => '?').join(', ')})`);
      const values = rows.flatMap((row) => names.map((name) => row[name] ?? null));
      await to.run(`INSERT INTO ${table} (${names.join(', ')}) VALUES ${places.join(', ')}`, ...values);
    }
  }
  // The next number that the database gives out; nothing where the table has none.
  if (columns.some(({ name, type }) => name === 'id' && type === 'INTEGER'))
    await to.all(`SELECT setval(pg_get_serial_sequence('${table}', 'id'), (SELECT max(id) FROM ${table}))`);
}
