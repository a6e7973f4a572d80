/** Brings a database to the newest schema: docs/keyserver.md, "Versions". */
import { KeyServerError } from '../errors.ts';
import type { Database } from './database.ts';
import { FIRST_VERSION, type SqlTypes, schema } from './schema.ts';

/** Step from one version of the schema to the next. */
export type Migration = (types: SqlTypes) => string;

/**
 * Changes since the first version, one step a version; a new database goes through all of them too. A step is never changed once it
 * was released. It leaves the database such that a key server of the version before can go on beside this one until it is restarted.
 */
const MIGRATIONS: readonly Migration[] = [
  // The site settings of the last bundle, as they are signed.
  ({ blob }) => `ALTER TABLE provider ADD COLUMN settings ${blob}`,
  // Pages that subscribers gave away, `paths` being what such a page loads, and the browsers that opened one: readers/gifts.ts.
  ({ integer, identity, blob, strict, keyed }) => `
CREATE TABLE gifts (
  id ${identity},
  secret_hash ${blob} NOT NULL UNIQUE,
  subscriber ${integer} NOT NULL REFERENCES subscribers ON DELETE CASCADE,
  target TEXT NOT NULL,
  made ${integer} NOT NULL,
  expires ${integer} NOT NULL,
  openings ${integer} NOT NULL,
  paths TEXT NOT NULL DEFAULT '[]'
)${strict};
CREATE INDEX gifts_subscriber ON gifts (subscriber, made);
CREATE INDEX gifts_expires ON gifts (expires);

CREATE TABLE gift_visits (
  token_hash ${blob} PRIMARY KEY,
  gift ${integer} NOT NULL REFERENCES gifts ON DELETE CASCADE,
  expires ${integer} NOT NULL
)${keyed};
CREATE INDEX gift_visits_gift ON gift_visits (gift);
CREATE INDEX gift_visits_expires ON gift_visits (expires);`,
  tillTables,
  // Names of browsers, in two words: readers/device-label.ts.
  () => 'ALTER TABLE devices ADD COLUMN label TEXT',
  // Patterns of sets that people have lost by a revocation, or with their account, and when last: subscriptions/lost-access.ts.
  ({ integer, keyed }) => `
CREATE TABLE lost_access (patterns TEXT PRIMARY KEY, lost ${integer} NOT NULL)${keyed};
CREATE INDEX subscriptions_ends ON subscriptions (plan, ends)`,
];

/** Ways to pay that were begun here, whose the subscriptions of other systems are, and what was told of those that are nobody's yet. */
function tillTables({ integer, identity, blob, strict, keyed }: SqlTypes): string {
  return `
-- By the digests of what the shop is given and of a secret in the browser's cookie; then what was bought. Whoever has bought was made by it, or not.
CREATE TABLE checkouts (
  reference_hash ${blob} PRIMARY KEY,
  browser_hash ${blob} NOT NULL UNIQUE,
  plan TEXT NOT NULL,
  target TEXT NOT NULL,
  subscriber ${integer} REFERENCES subscribers ON DELETE CASCADE,
  session_hash ${blob},
  source TEXT,
  buyer ${integer} REFERENCES subscribers ON DELETE CASCADE,
  is_new ${integer},
  expires ${integer} NOT NULL
)${keyed};
CREATE INDEX checkouts_subscriber ON checkouts (subscriber);
CREATE INDEX checkouts_buyer ON checkouts (buyer);
CREATE INDEX checkouts_expires ON checkouts (expires);

-- Whose a subscription is, since when, and by which word: subscriptions/kept-elsewhere.ts.
CREATE TABLE sources (
  source TEXT PRIMARY KEY,
  subscriber ${integer} NOT NULL REFERENCES subscribers ON DELETE CASCADE,
  word ${integer} NOT NULL,
  said ${integer} NOT NULL
)${keyed};
CREATE INDEX sources_subscriber ON sources (subscriber);
INSERT INTO sources (source, subscriber, word, said)
  SELECT source, subscriber, 1, 0 FROM tellings
  WHERE id IN (SELECT max(id) FROM tellings GROUP BY source);

CREATE TABLE unclaimed_tellings (
  id ${identity},
  source TEXT NOT NULL,
  told TEXT NOT NULL,
  came ${integer} NOT NULL
)${strict};
CREATE INDEX unclaimed_tellings_source ON unclaimed_tellings (source);
CREATE INDEX unclaimed_tellings_came ON unclaimed_tellings (came)`;
}

/** The newest version of the schema. */
export const SCHEMA_VERSION = FIRST_VERSION + MIGRATIONS.length;

/** A database whose schema can be changed. */
export interface Migratable extends Database {
  readonly types: SqlTypes;
  /** 0: there is none yet. */
  version(): Promise<number>;
  setVersion(version: number): Promise<void>;
  execute(script: string): Promise<void>;
}

/** Makes the schema if there is none, and takes every step that is missing, each in one transaction. Several processes may do it at once. */
export async function migrate(
  database: Migratable,
  fill: (database: Database) => Promise<void>,
  steps = MIGRATIONS,
): Promise<void> {
  await database.transaction(async () => {
    if ((await database.version()) > 0) return;
    await database.execute(schema(database.types));
    await fill(database);
    await database.setVersion(FIRST_VERSION);
  });
  for (const [index, step] of steps.entries()) {
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
  const versions = `has schema version ${version}; this program knows version ${SCHEMA_VERSION}`;
  throw new KeyServerError('store-unusable', `the database ${name} ${versions}`);
}
