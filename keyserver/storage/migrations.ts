/** Brings a database to the newest schema: docs/keyserver.md, "Versions". */
import { KeyServerError } from '../errors.ts';
import type { Database } from './database.ts';
import { FIRST_VERSION, type SqlTypes, schema } from './schema.ts';

/**
 * What has changed since version 3, one step a version; a new database goes through all of them too. A step is never changed once it was
 * released. It leaves the database such that a key server of the version before can go on beside this one until it is restarted.
 */
const MIGRATIONS: readonly ((types: SqlTypes) => string)[] = [
  () => 'CREATE INDEX invitations_subscriber ON invitations (subscriber)',
  ({ integer, identity, strict, keyed }) => `
CREATE TABLE plans (
  name TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  -- Separated by spaces.
  patterns TEXT NOT NULL,
  zone TEXT
)${keyed};
CREATE TABLE subscriptions (
  id ${identity},
  subscriber ${integer} NOT NULL REFERENCES subscribers ON DELETE CASCADE,
  plan TEXT NOT NULL REFERENCES plans,
  begins ${integer} NOT NULL,
  ends ${integer},
  -- What another system calls it, and when that system told of it last.
  source TEXT,
  told ${integer},
  UNIQUE (source, plan)
)${strict};
CREATE INDEX subscriptions_subscriber ON subscriptions (subscriber, plan);
CREATE INDEX subscriptions_plan ON subscriptions (plan);
ALTER TABLE tokens ADD COLUMN scope TEXT NOT NULL DEFAULT 'publish'`,
  ({ integer, blob, strict, keyed }) => `
-- Failed attempts, by a MAC over what is counted.
CREATE TABLE failures (
  counted ${blob} PRIMARY KEY,
  failed ${integer} NOT NULL,
  ends ${integer} NOT NULL
)${keyed};
CREATE INDEX failures_ends ON failures (ends);
-- The key that TLS tickets are sealed with at all key servers.
CREATE TABLE ticket_key (
  id ${integer} PRIMARY KEY CHECK (id = 1),
  made ${integer} NOT NULL,
  sealed ${blob} NOT NULL
)${strict}`,
];

/** The newest version of the schema. */
export const SCHEMA_VERSION = FIRST_VERSION + MIGRATIONS.length;

/** A database whose schema can be changed. */
export interface Migratable extends Database {
  readonly types: SqlTypes;
  /** 0: there is none yet. */
  version(): Promise<number>;
  setVersion(version: number): Promise<void>;
  /** Does several statements. */
  execute(script: string): Promise<void>;
}

/** Makes the schema if there is none, and takes every step that is missing, each in one transaction. Several processes may do it at once. */
export async function migrate(database: Migratable, fill: (database: Database) => Promise<void>): Promise<void> {
  await database.transaction(async () => {
    if ((await database.version()) > 0) return;
    await database.execute(schema(database.types));
    await fill(database);
    await database.setVersion(FIRST_VERSION);
  });
  for (const [index, step] of MIGRATIONS.entries()) {
    await database.transaction(async () => {
      if ((await database.version()) !== FIRST_VERSION + index) return;
      await database.execute(step(database.types));
      await database.setVersion(FIRST_VERSION + index + 1);
    });
  }
}

/** @throws KeyServerError `store-unusable` for a version that this program cannot migrate */
export function checkVersion(version: number, name: string): void {
  if (version >= FIRST_VERSION && version <= SCHEMA_VERSION) return;
  throw new KeyServerError(
    'store-unusable',
    `the database ${name} has schema version ${version}; this program knows version ${SCHEMA_VERSION}`,
  );
}
