/** The version of {@link schema}. What has changed since stands in migrations.ts. */
export const FIRST_VERSION = 3;

/** What each database calls its own way. */
export interface SqlTypes {
  /** 64 bits, with a sign. */
  readonly integer: string;
  /** A column of numbers that the database gives out. */
  readonly identity: string;
  readonly blob: string;
  /** After the columns of a table: of one that has numbers, and of one that has other keys. */
  readonly strict: string;
  readonly keyed: string;
}

/** The database. Times are seconds since 1970. `sealed` values are the vault's (keyserver/storage/vault.ts). */
export function schema({ integer, identity, blob, strict, keyed }: SqlTypes): string {
  return `
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)${keyed};

-- A known text, sealed: a wrong master key is noticed before anything is done with it.
CREATE TABLE canary (id ${integer} PRIMARY KEY CHECK (id = 1), sealed ${blob} NOT NULL)${strict};

-- The X-Wing key pair to which publishers seal their bundles.
CREATE TABLE recipient (
  id ${integer} PRIMARY KEY CHECK (id = 1),
  public_key ${blob} NOT NULL,
  sealed ${blob} NOT NULL
)${strict};

-- The publisher, pinned at the first import: by its first root, and by the key that signs bundles and objects.
CREATE TABLE provider (
  id ${integer} PRIMARY KEY CHECK (id = 1),
  publisher_key TEXT NOT NULL,
  root TEXT NOT NULL,
  first_root ${blob} NOT NULL,
  workspace TEXT NOT NULL,
  serial ${integer} NOT NULL,
  bundle_digest TEXT NOT NULL,
  descriptor ${blob} NOT NULL,
  imported ${integer} NOT NULL
)${strict};

CREATE TABLE sets (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  site TEXT NOT NULL,
  sealed ${blob} NOT NULL,
  imported ${integer} NOT NULL
)${keyed};

CREATE TABLE subscribers (
  id ${identity},
  name TEXT NOT NULL,
  name_key TEXT NOT NULL UNIQUE,
  created ${integer} NOT NULL,
  revoked ${integer}
)${strict};

CREATE TABLE grants (
  id ${identity},
  subscriber ${integer} NOT NULL REFERENCES subscribers ON DELETE CASCADE,
  pattern TEXT NOT NULL,
  granted_from ${integer} NOT NULL,
  granted_until ${integer},
  UNIQUE (subscriber, pattern)
)${strict};

CREATE TABLE invitations (
  code_hash ${blob} PRIMARY KEY,
  subscriber ${integer} NOT NULL REFERENCES subscribers ON DELETE CASCADE,
  expires ${integer} NOT NULL,
  -- The digest of the device's keys, or 'browser'.
  used_by TEXT
)${keyed};
CREATE INDEX invitations_expires ON invitations (expires);

-- Readers, and browsers that hold keys themselves.
CREATE TABLE devices (
  id ${identity},
  kind TEXT NOT NULL CHECK (kind IN ('reader', 'browser')),
  subscriber ${integer} NOT NULL REFERENCES subscribers ON DELETE CASCADE,
  keys_digest TEXT NOT NULL UNIQUE,
  key_id TEXT NOT NULL UNIQUE,
  sealed ${blob} NOT NULL,
  created ${integer} NOT NULL,
  last_seen ${integer},
  revoked ${integer}
)${strict};
CREATE INDEX devices_subscriber ON devices (subscriber);

CREATE TABLE nonces (
  device ${integer} NOT NULL REFERENCES devices ON DELETE CASCADE,
  nonce TEXT NOT NULL,
  expires ${integer} NOT NULL,
  PRIMARY KEY (device, nonce)
)${keyed};
CREATE INDEX nonces_expires ON nonces (expires);

CREATE TABLE accounts (
  subscriber ${integer} PRIMARY KEY REFERENCES subscribers ON DELETE CASCADE,
  password TEXT NOT NULL,
  changed ${integer} NOT NULL
)${strict};

CREATE TABLE sessions (
  token_hash ${blob} PRIMARY KEY,
  subscriber ${integer} NOT NULL REFERENCES subscribers ON DELETE CASCADE,
  expires ${integer} NOT NULL,
  -- The browser's device, once it has one.
  device ${integer} REFERENCES devices ON DELETE CASCADE
)${keyed};
CREATE INDEX sessions_subscriber ON sessions (subscriber);
CREATE INDEX sessions_device ON sessions (device);
CREATE INDEX sessions_expires ON sessions (expires);

-- For publishing from afar. Only the digest of a token is here.
CREATE TABLE tokens (
  id ${identity},
  name TEXT NOT NULL UNIQUE,
  token_hash ${blob} NOT NULL UNIQUE,
  created ${integer} NOT NULL,
  expires ${integer} NOT NULL,
  last_used ${integer}
)${strict};

-- The seed of the timestamp role, from the last bundle. No row: the publisher signs timestamps itself.
CREATE TABLE timestamp_key (
  id ${integer} PRIMARY KEY CHECK (id = 1),
  key_id TEXT NOT NULL,
  sealed ${blob} NOT NULL
)${strict};

-- The roots after the first one, each as its publisher signed it.
CREATE TABLE roots (version ${integer} PRIMARY KEY, metadata ${blob} NOT NULL)${strict};

-- The current publication, and when the roles expire that the publisher reported.
CREATE TABLE publication (
  id ${integer} PRIMARY KEY CHECK (id = 1),
  snapshot ${blob} NOT NULL,
  timestamp ${blob} NOT NULL,
  snapshot_version ${integer} NOT NULL,
  version ${integer} NOT NULL,
  expires ${integer} NOT NULL,
  expiries TEXT NOT NULL
)${strict};

-- When timestamps were last pushed, and when that last failed.
CREATE TABLE pushes (
  target TEXT PRIMARY KEY,
  succeeded ${integer},
  failed ${integer}
)${keyed};

-- One-time codes with which a browser that is signed in opens a session at the origin of the documents. Codes and sessions end with the
-- session that they belong to.
CREATE TABLE entries (
  code_hash ${blob} PRIMARY KEY,
  session ${blob} NOT NULL REFERENCES sessions ON DELETE CASCADE,
  challenge ${blob} NOT NULL,
  expires ${integer} NOT NULL
)${keyed};
CREATE INDEX entries_session ON entries (session);

CREATE TABLE document_sessions (
  token_hash ${blob} PRIMARY KEY,
  session ${blob} NOT NULL UNIQUE REFERENCES sessions ON DELETE CASCADE
)${keyed};
`;
}

/** Marks a database as a key server's in its header: "wspk". A reader's has another. */
export const APPLICATION_ID = 0x7773706b;
