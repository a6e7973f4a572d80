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
];

/** Marks a database as a key server's in its header: "wspk". A reader's has another. */
export const APPLICATION_ID = 0x7773706b;
