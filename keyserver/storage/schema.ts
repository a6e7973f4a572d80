/** The version of {@link SCHEMA}, as the database's header has it. */
export const SCHEMA_VERSION = 3;

/** The database. Times are seconds since 1970. `sealed` values are the vault's (keyserver/storage/vault.ts). */
export const SCHEMA = `
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- A known text, sealed: a wrong master key is noticed before anything is done with it.
CREATE TABLE canary (id INTEGER PRIMARY KEY CHECK (id = 1), sealed BLOB NOT NULL) STRICT;

-- The X-Wing key pair to which publishers seal their bundles.
CREATE TABLE recipient (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  public_key BLOB NOT NULL,
  sealed BLOB NOT NULL
) STRICT;

-- The publisher, pinned at the first import: by its first root, and by the key that signs bundles and objects.
CREATE TABLE provider (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  publisher_key TEXT NOT NULL,
  root TEXT NOT NULL,
  first_root BLOB NOT NULL,
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
  subscriber INTEGER NOT NULL REFERENCES subscribers ON DELETE CASCADE,
  expires INTEGER NOT NULL,
  -- The digest of the device's keys, or 'browser'.
  used_by TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_expires ON invitations (expires);

-- Readers, and browsers that hold keys themselves.
CREATE TABLE devices (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('reader', 'browser')),
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
  expires INTEGER NOT NULL,
  -- The browser's device, once it has one.
  device INTEGER REFERENCES devices ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_subscriber ON sessions (subscriber);
CREATE INDEX sessions_device ON sessions (device);
CREATE INDEX sessions_expires ON sessions (expires);

-- For publishing from afar. Only the digest of a token is here.
CREATE TABLE tokens (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  token_hash BLOB NOT NULL UNIQUE,
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  last_used INTEGER
) STRICT;

-- The seed of the timestamp role, from the last bundle. No row: the publisher signs timestamps itself.
CREATE TABLE timestamp_key (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  key_id TEXT NOT NULL,
  sealed BLOB NOT NULL
) STRICT;

-- The roots after the first one, each as its publisher signed it.
CREATE TABLE roots (version INTEGER PRIMARY KEY, metadata BLOB NOT NULL) STRICT;

-- The current publication, and when the roles expire that the publisher reported.
CREATE TABLE publication (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  snapshot BLOB NOT NULL,
  timestamp BLOB NOT NULL,
  snapshot_version INTEGER NOT NULL,
  version INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  expiries TEXT NOT NULL
) STRICT;

-- When timestamps were last pushed, and when that last failed.
CREATE TABLE pushes (
  target TEXT PRIMARY KEY,
  succeeded INTEGER,
  failed INTEGER
) STRICT, WITHOUT ROWID;

-- One-time codes with which a browser that is signed in opens a session at the origin of the documents. Codes and sessions end with the
-- session that they belong to.
CREATE TABLE entries (
  code_hash BLOB PRIMARY KEY,
  session BLOB NOT NULL REFERENCES sessions ON DELETE CASCADE,
  challenge BLOB NOT NULL,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_session ON entries (session);

CREATE TABLE document_sessions (
  token_hash BLOB PRIMARY KEY,
  session BLOB NOT NULL UNIQUE REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
`;

/** Marks a database as a key server's in its header: "wspk". A reader's has another. */
export const APPLICATION_ID = 0x7773706b;
