/** The tables of `publisher.db`, and their rows. Nothing in them is secret, and no digest of a plaintext is among them; docs/publish.md says so. */
import type { KeyId } from '../../../core/crypto/key-id.ts';

/** "wPix" in ASCII. */
export const APPLICATION_ID = 0x77_50_69_78;
export const SCHEMA_VERSION = 2;

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

-- Files of the output that no document needs any more. since: when one that does without them was confirmed; null: none is yet.
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

-- Directories of the output as they were when all names were there that belong to them.
CREATE TABLE directory (path TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT, WITHOUT ROWID;
-- The publication that a target showed last, with all of its files; those of documents as far as \`change\` had come then.
CREATE TABLE target (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  sha256 TEXT NOT NULL,            -- of the snapshot, which names the digests of all lists, and these those of all files
  seen INTEGER NOT NULL,           -- the last change of which the target has the files
  compared TEXT NOT NULL           -- the list whose documents were compared last, in turn
) STRICT, WITHOUT ROWID;
-- Documents of which any file became another, each once, in their order.
CREATE TABLE change (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE) STRICT;
CREATE TRIGGER document_added AFTER INSERT ON document WHEN EXISTS (SELECT 1 FROM target) BEGIN
  DELETE FROM change WHERE path = NEW.path;
  INSERT INTO change (path) VALUES (NEW.path);
END;
CREATE TRIGGER document_changed AFTER UPDATE OF head, content, form, placed ON document
  WHEN (OLD.head, OLD.content, OLD.form, OLD.placed) IS NOT (NEW.head, NEW.content, NEW.form, NEW.placed) AND EXISTS (SELECT 1 FROM target) BEGIN
  DELETE FROM change WHERE path = NEW.path;
  INSERT INTO change (path) VALUES (NEW.path);
END;

PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA_VERSION};
`;

export type FactName =
  /** base64url of the descriptor that is published. */
  | 'descriptor'
  /** JSON: envelopes by the key ids of their period keys, base64url. */
  | 'envelopes'
  /** Contents of the key bundle. */
  | 'bundle'
  /** The start of the machine since which all files were found or written. */
  | 'boot'
  /** JSON: names of all targets that showed a publication. */
  | 'shownAt'
  /** SHA-256 of the snapshot that this copy of the workspace published last, and of those that it began since: publisher/publish/elsewhere.ts. */
  | 'ours'
  /** JSON: versions of publications at targets, and since when a confirmed one has been in the place of each. */
  | 'replaced'
  /** JSON: versions of publications that no reader has had, and until when each was held back: publisher/publication/held.ts. */
  | 'held'
  /** Digest of the settings of the last run over the whole site: publisher/protect/inspect.ts. */
  | 'whole'
  /** A random name of this database: publisher/authority/publishing-run.ts. */
  | 'run'
  /** Bits of the number of bins. */
  | 'bins'
  | 'version'
  /** Key id of the publisher's key. */
  | 'publisher'
  /** Hash of the key store, which is encrypted, as the last publication left it. */
  | 'keyStore'
  | 'root'
  /** Key ids of the roles that signed. */
  | 'signers'
  /** Targets that the role `targets` names. */
  | 'targets'
  /** The sections, and who signed them: publisher/protect/sections.ts. */
  | 'sections'
  /** Key server and SHA-256 of the key bundle that was handed over last. */
  | 'handedOver'
  /** base64url of the last timestamp that was signed or seen: publisher/authority/. */
  | 'timestamp';

/** Tables of what the present run is going to do. They lie in a file of their own that SQLite removes. */
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
CREATE TEMP TABLE later (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  file TEXT NOT NULL,
  size INTEGER NOT NULL,
  lastModified INTEGER,
  identity TEXT NOT NULL
);
CREATE TEMP TABLE gone (id INTEGER PRIMARY KEY, path TEXT NOT NULL);
`;

/**
 * The file at a document's own name, for browsers without a reader: nothing (`none`), a fallback page (`page`), the plain copy of a public
 * document (`copy`), or a page that carries the object (`carrier`).
 */
export type Form = 'none' | 'page' | 'copy' | 'carrier';

export type Change =
  | 'added'
  | 'changed'
  | 'moved'
  | 'rekeyed'
  /** The source is the same; the way to publish it is not. */
  | 'remade'
  | 'restored';

export interface IndexedDocument {
  readonly id: number;
  readonly path: string;
  readonly identity: string;
  readonly size: number;
  readonly pageSet: string | undefined;
  readonly teaser: string | undefined;
  readonly setName: string | undefined;
  readonly setId: KeyId | undefined;
  readonly options: string;
  readonly head: string;
  readonly headLength: number;
  readonly content: string | undefined;
  readonly contentLength: number | undefined;
  readonly bytesOut: number;
  readonly form: Form;
  readonly placed: string | undefined;
  readonly headBin: number;
  readonly contentBin: number | undefined;
}

export interface Task
  extends Pick<IndexedDocument, 'path' | 'identity' | 'size' | 'pageSet' | 'teaser' | 'setName' | 'options' | 'form'> {
  readonly change: Change;
  /** The file itself, with every link resolved. */
  readonly file: string;
  readonly lastModified: number | undefined;
  readonly mediaType: string;
}

/** A row of `later`: a file that is decided about after all pages have been read. */
export type LaterFile = Pick<Task, 'file' | 'identity' | 'lastModified' | 'path' | 'size'>;

/** Facts of a written document; the rest of its row comes from its {@link Task}. */
export type Written = Omit<IndexedDocument, 'id' | keyof Task>;

export interface TargetRow {
  readonly name: string;
  readonly version: number;
  readonly sha256: string;
  readonly seen: number;
  readonly compared: string;
}

export interface RoleRow {
  readonly name: string;
  readonly version: number;
  readonly length: number;
  readonly sha256: string;
  readonly expires: number;
}
