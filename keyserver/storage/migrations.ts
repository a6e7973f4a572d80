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
  ({ integer, strict }) => `
-- Of a group: how many members it can have. Members have its rights.
ALTER TABLE subscribers ADD COLUMN seats ${integer};
ALTER TABLE subscribers ADD COLUMN member_of ${integer} REFERENCES subscribers ON DELETE CASCADE;
CREATE INDEX subscribers_member_of ON subscribers (member_of);
-- When the publisher's own system was asked last about a subscriber, and when it answered last.
CREATE TABLE entitlements (
  subscriber ${integer} PRIMARY KEY REFERENCES subscribers ON DELETE CASCADE,
  asked ${integer} NOT NULL,
  answered ${integer}
)${strict}`,
  (types) => `
CREATE TABLE passkey_challenges (
  challenge_hash ${types.blob} PRIMARY KEY,
  expires ${types.integer} NOT NULL
)${types.keyed};
CREATE INDEX passkey_challenges_expires ON passkey_challenges (expires);
${passkeyTable(types, 'reader_passkeys', 'subscribers')};
-- Who a person at an OpenID provider is here.
CREATE TABLE identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  subscriber ${types.integer} NOT NULL REFERENCES subscribers ON DELETE CASCADE,
  created ${types.integer} NOT NULL,
  PRIMARY KEY (issuer, subject)
)${types.keyed};
CREATE INDEX identities_subscriber ON identities (subscriber)`,
  (types) => {
    const { integer, identity, blob, strict, keyed } = types;
    return `
-- What changes have noted: audit.ts moves it into the chain.
CREATE TABLE audit_news (
  id ${identity},
  time ${integer} NOT NULL,
  who TEXT NOT NULL,
  action TEXT NOT NULL,
  about TEXT NOT NULL,
  details TEXT NOT NULL
)${strict};
CREATE TABLE audit (
  number ${integer} PRIMARY KEY,
  time ${integer} NOT NULL,
  who TEXT NOT NULL,
  action TEXT NOT NULL,
  about TEXT NOT NULL,
  details TEXT NOT NULL,
  hash TEXT NOT NULL
)${strict};
CREATE INDEX audit_time ON audit (time);
CREATE INDEX audit_who ON audit (who, number);
CREATE INDEX audit_about ON audit (about, number);
-- What was answered, by hour: counts.ts.
CREATE TABLE counts (
  hour ${integer} NOT NULL,
  what TEXT NOT NULL,
  n ${integer} NOT NULL,
  PRIMARY KEY (hour, what)
)${keyed};
CREATE INDEX devices_last_seen ON devices (last_seen);
CREATE INDEX subscribers_revoked ON subscribers (name_key) WHERE revoked IS NOT NULL;
CREATE TABLE operators (
  id ${identity},
  name TEXT NOT NULL UNIQUE,
  created ${integer} NOT NULL
)${strict};
-- With which an operator registers a passkey.
CREATE TABLE operator_links (
  code_hash ${blob} PRIMARY KEY,
  operator ${integer} NOT NULL REFERENCES operators ON DELETE CASCADE,
  expires ${integer} NOT NULL
)${keyed};
CREATE TABLE operator_sessions (
  token_hash ${blob} PRIMARY KEY,
  operator ${integer} NOT NULL REFERENCES operators ON DELETE CASCADE,
  expires ${integer} NOT NULL
)${keyed};
${passkeyTable(types, 'operator_passkeys', 'operators')}`;
  },
  ({ integer, blob, keyed }) => `
-- What the key server makes for itself: keyserver/storage/secrets.ts.
CREATE TABLE secrets (name TEXT PRIMARY KEY, sealed ${blob} NOT NULL)${keyed};
-- Key pairs that publishers sealed their bundles to before; good until one is sealed to the present one.
CREATE TABLE former_recipients (
  key_id TEXT PRIMARY KEY,
  public_key ${blob} NOT NULL,
  sealed ${blob} NOT NULL,
  replaced ${integer} NOT NULL
)${keyed}`,
  ({ integer, blob, keyed }) => `
-- Codes that were mailed: who has asked, by the digest of a secret in that browser's cookie, and what for.
CREATE TABLE mail_codes (
  browser_hash ${blob} PRIMARY KEY,
  code_hash ${blob} NOT NULL,
  purpose TEXT NOT NULL,
  -- Typed by the reader. Without a subscriber nothing was sent, or the address is to be one.
  name TEXT NOT NULL,
  subscriber ${integer} REFERENCES subscribers ON DELETE CASCADE,
  -- The link of the same mail.
  invitation ${blob} REFERENCES invitations ON DELETE CASCADE,
  target TEXT NOT NULL,
  tries ${integer} NOT NULL,
  expires ${integer} NOT NULL
)${keyed};
CREATE INDEX mail_codes_subscriber ON mail_codes (subscriber);
CREATE INDEX mail_codes_invitation ON mail_codes (invitation);
CREATE INDEX mail_codes_expires ON mail_codes (expires);
-- Wrong codes, by the digest of the name.
CREATE TABLE wrong_mail_codes (name_hash ${blob} PRIMARY KEY, count ${integer} NOT NULL, expires ${integer} NOT NULL)${keyed};
CREATE INDEX wrong_mail_codes_expires ON wrong_mail_codes (expires);
-- By the digest of the address: who has signed up once, also after the account was deleted.
CREATE TABLE sign_ups (name_hash ${blob} PRIMARY KEY)${keyed};
ALTER TABLE sessions ADD COLUMN proven ${integer}`,
  ({ integer, blob, keyed }) => `
-- Of plans, as the last bundle has them: the sorted patterns as JSON, and the time zone of a dated plan.
CREATE TABLE periods (
  id TEXT PRIMARY KEY,
  plan TEXT NOT NULL,
  sets TEXT NOT NULL,
  zone TEXT,
  starts ${integer} NOT NULL,
  ends ${integer} NOT NULL,
  sealed ${blob} NOT NULL
)${keyed}`,
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
  ({ integer }) => `
-- 1: made in a session of the subscriber, and so no proof of who uses it.
ALTER TABLE invitations ADD COLUMN own ${integer}`,
];

/** A table of passkeys: keyserver/passkeys/store.ts. @param owners - the table of those whose they are */
function passkeyTable({ integer, blob, keyed }: SqlTypes, name: string, owners: string): string {
  return `
CREATE TABLE ${name} (
  id TEXT PRIMARY KEY,
  owner ${integer} NOT NULL REFERENCES ${owners} ON DELETE CASCADE,
  label TEXT NOT NULL,
  public_key ${blob} NOT NULL,
  counter ${integer} NOT NULL,
  created ${integer} NOT NULL,
  last_used ${integer}
)${keyed};
CREATE INDEX ${name}_owner ON ${name} (owner)`;
}

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
