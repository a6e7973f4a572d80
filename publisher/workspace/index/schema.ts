/** The tables of `publisher.db`. Nothing in them is secret, and no digest of a plaintext is among them; docs/publish.md says so. */

/** "wPix" in ASCII. */
export const APPLICATION_ID = 0x77_50_69_78;
export const SCHEMA_VERSION = 1;

export const SCHEMA = `
-- What was written for each document, and from what. A row is written only after the files that it describes are there.
CREATE TABLE document (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  identity TEXT NOT NULL,          -- device, inode, length and times of the source file
  size INTEGER NOT NULL,           -- bytes of the source file
  pageSet TEXT,                   -- what the page says about its set
  teaser TEXT,                     -- what its fallback page shows, as JSON
  setName TEXT,                   -- null: public
  setId TEXT,                     -- key id of the set key that it is encrypted under
  options TEXT NOT NULL,           -- digest of whatever else shapes the object
  head TEXT NOT NULL,              -- SHA-256 of the head, hexadecimal: the name of the object
  headLength INTEGER NOT NULL,
  content TEXT,                    -- SHA-256 of a public document's content
  contentLength INTEGER,
  bytesOut INTEGER NOT NULL,
  form TEXT NOT NULL,              -- what lies at the document's own name: Form
  placed TEXT,                     -- digest of what was put there; null: to be put there yet
  headBin INTEGER NOT NULL,       -- first 16 bits of SHA-256 of the target path; from 65536 up, the number of its section
  contentBin INTEGER,
  pageBytes INTEGER               -- of the fallback page that was put at the document's own name
) STRICT;
CREATE INDEX document_head_bin ON document (headBin);
CREATE INDEX document_content_bin ON document (contentBin) WHERE contentBin IS NOT NULL;

-- First 16 bits of the target paths whose bins are to be signed again, and numbers of sections that are.
CREATE TABLE changed_bin (bin INTEGER PRIMARY KEY) STRICT, WITHOUT ROWID;

-- Files of the output that no document needs any more. since: when a publication first did without them; null: none yet does.
CREATE TABLE retired (file TEXT PRIMARY KEY, since INTEGER, plain INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- The metadata files that the last snapshot names.
CREATE TABLE role (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  length INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  expires INTEGER NOT NULL         -- seconds since 1970
) STRICT, WITHOUT ROWID;

-- Since when a set has its key: the key store says it too, but only to who knows the passphrase.
CREATE TABLE set_key (id TEXT PRIMARY KEY, since INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- The state of the workspace: FactName.
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** What the present run is going to do. It lies in a file of its own that SQLite removes. */
export const PLAN_SCHEMA = `
CREATE TEMP TABLE task (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  change TEXT NOT NULL,
  file TEXT NOT NULL,
  size INTEGER NOT NULL,
  lastModified INTEGER,
  identity TEXT NOT NULL,
  mediaType TEXT NOT NULL,
  pageSet TEXT,
  teaser TEXT,
  setName TEXT,
  options TEXT NOT NULL,
  form TEXT NOT NULL
);
CREATE INDEX temp.task_path ON task (path);
CREATE TEMP TABLE gone (id INTEGER PRIMARY KEY, path TEXT NOT NULL);
`;
