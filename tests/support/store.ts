/** Places where the key servers of a test keep their state: the same tests run on SQLite and on PostgreSQL (tests/release/postgres). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { KeyServerConfig } from '../../keyserver/config/config.ts';
import type { Database } from '../../keyserver/storage/database.ts';
import { newPostgresUrl } from './postgres.ts';

type Kind = 'sqlite' | 'postgres';

let kind: Kind = 'sqlite';

/** Sets where key servers of a test file or of the calling `describe` keep their state. Files share this process: afterwards all is as before. */
export function keepStateIn(chosen: Kind): void {
  let before = kind;
  beforeAll(() => {
    before = kind;
    kind = chosen;
  });
  afterAll(() => {
    kind = before;
  });
}

/** A place for the state of a new key server. */
export async function storeIn(folder: string): Promise<Pick<KeyServerConfig, 'data' | 'database'>> {
  if (kind === 'sqlite') return { data: join(folder, 'keyserver.db'), database: undefined };
  return { data: undefined, database: await newPostgresUrl() };
}

/** Reads all that a key server has stored, as bytes that can be searched. */
export async function everythingStored(database: Database, { data }: Pick<KeyServerConfig, 'data'>): Promise<Buffer> {
  if (data !== undefined) {
    await database.run('PRAGMA wal_checkpoint(TRUNCATE)');
    return readFileSync(data);
  }
  const sql = 'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()';
  const parts: Uint8Array[] = [];
  for (const { name } of await database.all<{ name: string }>(sql))
    for (const row of await database.all<Record<string, unknown>>(`SELECT * FROM ${name}`))
      for (const value of Object.values(row))
        parts.push(value instanceof Uint8Array ? value : Buffer.from(String(value)));
  return Buffer.concat(parts);
}

/** Finds rows that refer to one that is not there. PostgreSQL lets no such row in. */
export function danglingRows(database: Database, { data }: Pick<KeyServerConfig, 'data'>): Promise<unknown[]> {
  return data === undefined ? Promise.resolve([]) : database.all('PRAGMA foreign_key_check');
}

/** Reads every row of every table, as text; codes that end within a minute are left out. */
export async function everyRow(database: Database): Promise<string[]> {
  const tables = await database
    .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .catch(() => database.all<{ name: string }>("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'"));
  const rows = tables
    .filter(({ name }) => name !== 'entries')
    .map(async ({ name }) =>
      (await database.all(`SELECT * FROM ${name}`)).map((row) => `${name} ${JSON.stringify(row)}`),
    );
  return (await Promise.all(rows)).flat().sort();
}
