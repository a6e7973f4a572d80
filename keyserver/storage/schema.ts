/**
 * The database, one migration a version. A migration that was released is never edited: the next change is a new one. Times are
 * seconds since 1970. `sealed` values are the vault's (keyserver/vault.ts).
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  -- A known text, sealed: a wrong master key is noticed before anything is done with it.
  CREATE TABLE canary (id INTEGER PRIMARY KEY CHECK (id = 1), sealed BLOB NOT NULL) STRICT;

  -- The X-Wing key pair to which publishers seal their bundles.
  CREATE TABLE recipient (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    public_key BLOB NOT NULL,
    sealed BLOB NOT NULL
  ) STRICT;

  -- The publisher, pinned at the first import.
  CREATE TABLE provider (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    publisher TEXT NOT NULL,
    workspace TEXT NOT NULL,
    serial INTEGER NOT NULL,
    bundle_digest TEXT NOT NULL,
    descriptor BLOB NOT NULL,
    imported INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE sets (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    site TEXT NOT NULL,
    sealed BLOB NOT NULL,
    imported INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE subscribers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,
    created INTEGER NOT NULL,
    revoked INTEGER
  ) STRICT;

  CREATE TABLE grants (
    id INTEGER PRIMARY KEY,
    subscriber INTEGER NOT NULL REFERENCES subscribers ON DELETE CASCADE,
    pattern TEXT NOT NULL,
    granted_from INTEGER NOT NULL,
    granted_until INTEGER,
    UNIQUE (subscriber, pattern)
  ) STRICT;

  CREATE TABLE invitations (
    code_hash BLOB PRIMARY KEY,
    purpose TEXT NOT NULL CHECK (purpose IN ('device', 'account')),
    subscriber INTEGER NOT NULL REFERENCES subscribers ON DELETE CASCADE,
    expires INTEGER NOT NULL,
    -- The digest of the device's keys, or 'account'.
    used_by TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX invitations_expires ON invitations (expires);

  CREATE TABLE devices (
    id INTEGER PRIMARY KEY,
    subscriber INTEGER NOT NULL REFERENCES subscribers ON DELETE CASCADE,
    keys_digest TEXT NOT NULL UNIQUE,
    key_id TEXT NOT NULL UNIQUE,
    sealed BLOB NOT NULL,
    created INTEGER NOT NULL,
    last_seen INTEGER,
    revoked INTEGER
  ) STRICT;
  CREATE INDEX devices_subscriber ON devices (subscriber);

  CREATE TABLE nonces (
    device INTEGER NOT NULL REFERENCES devices ON DELETE CASCADE,
    nonce TEXT NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (device, nonce)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX nonces_expires ON nonces (expires);

  CREATE TABLE accounts (
    subscriber INTEGER PRIMARY KEY REFERENCES subscribers ON DELETE CASCADE,
    password TEXT NOT NULL,
    changed INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE sessions (
    token_hash BLOB PRIMARY KEY,
    subscriber INTEGER NOT NULL REFERENCES subscribers ON DELETE CASCADE,
    expires INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_subscriber ON sessions (subscriber);
  CREATE INDEX sessions_expires ON sessions (expires);
  `,
  `
  -- The publisher's identity is the id of its first root; the key that signs bundles and objects is pinned beside it. A provider from before
  -- publications has no root until its next bundle.
  ALTER TABLE provider RENAME COLUMN publisher TO publisher_key;
  ALTER TABLE provider ADD COLUMN root TEXT;
  ALTER TABLE provider ADD COLUMN first_root BLOB;

  -- For publishing from afar. Only the digest of a token is here.
  CREATE TABLE tokens (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    token_hash BLOB NOT NULL UNIQUE,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    last_used INTEGER
  ) STRICT;

  -- The seed of the timestamp role, as the last bundle brought it. No row: the publisher signs timestamps itself.
  CREATE TABLE timestamp_key (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL
  ) STRICT;

  -- The roots after the first one, each as its publisher signed it.
  CREATE TABLE roots (version INTEGER PRIMARY KEY, metadata BLOB NOT NULL) STRICT;

  -- The timestamp that counts; every withdrawal that was ever seen; and when the roles expire that the publisher told of.
  CREATE TABLE publication (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    timestamp BLOB NOT NULL,
    version INTEGER NOT NULL,
    snapshot INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    withdrawn TEXT NOT NULL,
    expiries TEXT NOT NULL
  ) STRICT;

  -- When timestamps were last pushed, and when that last failed.
  CREATE TABLE pushes (
    target TEXT PRIMARY KEY,
    succeeded INTEGER,
    failed INTEGER
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- The version of the publication that was handed over last: what lies at a target may name any.
  ALTER TABLE publication ADD COLUMN handed_over INTEGER NOT NULL DEFAULT 0;
  UPDATE publication SET handed_over = snapshot;
  `,
  `
  -- The least version of a timestamp by which all readers learn what the one here says: its own, or above what they may have seen in its place.
  ALTER TABLE publication ADD COLUMN least INTEGER NOT NULL DEFAULT 0;
  UPDATE publication SET least = version;
  -- Publications, by number and hash, that a timestamp of their own withdraws.
  ALTER TABLE publication ADD COLUMN ended TEXT NOT NULL DEFAULT '[]';
  `,
];

/** Marks a database as a key server's in its header: "wspk". A reader's has another. */
export const APPLICATION_ID = 0x7773706b;
