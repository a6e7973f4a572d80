/** The version of {@link schema}. What has changed since stands in migrations.ts. */
export const FIRST_VERSION = 1;

/** SQL in which databases differ. */
export interface SqlTypes {
  /** 64 bits, with a sign. */
  readonly integer: string;
  /** A column of numbers that the database gives out. */
  readonly identity: string;
  readonly blob: string;
  /** SQL after the columns of a table: of one that has numbers, and of one that has other keys. */
  readonly strict: string;
  readonly keyed: string;
}

/** The database. Times are seconds since 1970. `sealed` values are the vault's (keyserver/storage/vault.ts). */
export function schema(types: SqlTypes): string {
  const { integer, identity, blob, strict, keyed } = types;
  const texts = ['who', 'action', 'about', 'details'].map((name) => `${name} TEXT NOT NULL`);
  const change = [`time ${integer} NOT NULL`, ...texts].join(', ');
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

-- Key pairs that publishers sealed their bundles to before; good until one is sealed to the present one.
CREATE TABLE former_recipients (
  key_id TEXT PRIMARY KEY,
  public_key ${blob} NOT NULL,
  sealed ${blob} NOT NULL,
  replaced ${integer} NOT NULL
)${keyed};

-- What the key server makes for itself: keyserver/storage/secrets.ts.
CREATE TABLE secrets (name TEXT PRIMARY KEY, sealed ${blob} NOT NULL)${keyed};

-- The key that TLS tickets are sealed with at all key servers.
CREATE TABLE ticket_key (
  id ${integer} PRIMARY KEY CHECK (id = 1),
  made ${integer} NOT NULL,
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
  revoked ${integer},
  -- Of a group: how many members it can have. Members have its rights.
  seats ${integer},
  member_of ${integer} REFERENCES subscribers ON DELETE CASCADE
)${strict};
CREATE INDEX subscribers_member_of ON subscribers (member_of);
CREATE INDEX subscribers_revoked ON subscribers (name_key) WHERE revoked IS NOT NULL;

CREATE TABLE grants (
  id ${identity},
  subscriber ${integer} NOT NULL REFERENCES subscribers ON DELETE CASCADE,
  pattern TEXT NOT NULL,
  granted_from ${integer} NOT NULL,
  granted_until ${integer},
  UNIQUE (subscriber, pattern)
)${strict};

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
  -- What another system calls it.
  source TEXT
)${strict};
CREATE INDEX subscriptions_source ON subscriptions (source);
CREATE INDEX subscriptions_subscriber ON subscriptions (subscriber, plan);
CREATE INDEX subscriptions_plan ON subscriptions (plan);

-- Tellings of other systems about subscriptions that they keep, as JSON: subscriptions/kept-elsewhere.ts.
CREATE TABLE tellings (
  id ${identity},
  source TEXT NOT NULL,
  subscriber ${integer} NOT NULL REFERENCES subscribers ON DELETE CASCADE,
  told TEXT NOT NULL
)${strict};
CREATE INDEX tellings_source ON tellings (source);
CREATE INDEX tellings_subscriber ON tellings (subscriber);

-- Of plans, as the last bundle has them: the sorted patterns as JSON, and the time zone of a dated plan.
CREATE TABLE periods (
  id TEXT PRIMARY KEY,
  site TEXT NOT NULL,
  plan TEXT NOT NULL,
  sets TEXT NOT NULL,
  zone TEXT,
  starts ${integer} NOT NULL,
  ends ${integer} NOT NULL,
  sealed ${blob} NOT NULL
)${keyed};

-- When the publisher's own system was asked last about a subscriber, and when it answered last.
CREATE TABLE entitlements (
  subscriber ${integer} PRIMARY KEY REFERENCES subscribers ON DELETE CASCADE,
  asked ${integer} NOT NULL,
  answered ${integer}
)${strict};

CREATE TABLE invitations (
  code_hash ${blob} PRIMARY KEY,
  subscriber ${integer} NOT NULL REFERENCES subscribers ON DELETE CASCADE,
  expires ${integer} NOT NULL,
  -- The digest of the device's keys, or 'browser'.
  used_by TEXT,
  -- 1: made in a session of the subscriber, and so no proof of who uses it.
  own ${integer}
)${keyed};
CREATE INDEX invitations_subscriber ON invitations (subscriber);
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
CREATE INDEX devices_last_seen ON devices (last_seen);

-- Numbers of what each process has changed that others keep in memory: memory.ts.
CREATE TABLE changes (
  process ${integer} NOT NULL,
  topic TEXT NOT NULL,
  number ${integer} NOT NULL,
  PRIMARY KEY (process, topic)
)${keyed};

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
  device ${integer} REFERENCES devices ON DELETE CASCADE,
  proven ${integer}
)${keyed};
CREATE INDEX sessions_subscriber ON sessions (subscriber);
CREATE INDEX sessions_device ON sessions (device);
CREATE INDEX sessions_expires ON sessions (expires);

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

-- Mail to many: when the invitation was tried last, and when the mail server took one last; how it refused the address for good; and since when the
-- subscriber wants no such mail.
CREATE TABLE mailings (
  subscriber ${integer} PRIMARY KEY REFERENCES subscribers ON DELETE CASCADE,
  tried ${integer},
  mailed ${integer},
  refusal TEXT,
  unsubscribed ${integer}
)${strict};

-- Wrong codes, by the digest of the name.
CREATE TABLE wrong_mail_codes (name_hash ${blob} PRIMARY KEY, count ${integer} NOT NULL, expires ${integer} NOT NULL)${keyed};
CREATE INDEX wrong_mail_codes_expires ON wrong_mail_codes (expires);

-- By the digest of the address: who has signed up once, also after the account was deleted.
CREATE TABLE sign_ups (name_hash ${blob} PRIMARY KEY)${keyed};

-- Who a person at an OpenID provider is here.
CREATE TABLE identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  subscriber ${integer} NOT NULL REFERENCES subscribers ON DELETE CASCADE,
  created ${integer} NOT NULL,
  PRIMARY KEY (issuer, subject)
)${keyed};
CREATE INDEX identities_subscriber ON identities (subscriber);

CREATE TABLE passkey_challenges (challenge_hash ${blob} PRIMARY KEY, expires ${integer} NOT NULL)${keyed};
CREATE INDEX passkey_challenges_expires ON passkey_challenges (expires);
${passkeyTable(types, 'reader_passkeys', 'subscribers')}

CREATE TABLE operators (id ${identity}, name TEXT NOT NULL UNIQUE, created ${integer} NOT NULL)${strict};

-- Digests of links with which an operator registers a passkey, and of tokens of sessions.
CREATE TABLE operator_secrets (
  hash ${blob} PRIMARY KEY,
  operator ${integer} NOT NULL REFERENCES operators ON DELETE CASCADE,
  expires ${integer} NOT NULL
)${keyed};
${passkeyTable(types, 'operator_passkeys', 'operators')}

-- For publishing from afar. Only the digest of a token is here.
CREATE TABLE tokens (
  id ${identity},
  name TEXT NOT NULL UNIQUE,
  token_hash ${blob} NOT NULL UNIQUE,
  created ${integer} NOT NULL,
  expires ${integer} NOT NULL,
  last_used ${integer},
  scope TEXT NOT NULL
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
  expiries TEXT NOT NULL,
  published ${integer} NOT NULL,
  who TEXT NOT NULL,
  place TEXT NOT NULL
)${strict};

-- The run that publishes now: publication/publishing.ts.
CREATE TABLE publishing (
  run TEXT PRIMARY KEY,
  who TEXT NOT NULL,
  place TEXT NOT NULL,
  since ${integer} NOT NULL,
  ends ${integer} NOT NULL
)${strict};

-- When timestamps were last pushed, and when that last failed.
CREATE TABLE pushes (target TEXT PRIMARY KEY, succeeded ${integer}, failed ${integer})${keyed};

-- One-time codes with which a browser that is signed in opens a session at the origin of the documents. Codes and sessions end with the
-- session that they belong to.
CREATE TABLE entries (
  code_hash ${blob} PRIMARY KEY,
  session ${blob} NOT NULL REFERENCES sessions ON DELETE CASCADE,
  expires ${integer} NOT NULL
)${keyed};
CREATE INDEX entries_session ON entries (session);

CREATE TABLE document_sessions (
  token_hash ${blob} PRIMARY KEY,
  session ${blob} NOT NULL UNIQUE REFERENCES sessions ON DELETE CASCADE
)${keyed};

-- Failed attempts, by a MAC over what is counted.
CREATE TABLE failures (counted ${blob} PRIMARY KEY, failed ${integer} NOT NULL, ends ${integer} NOT NULL)${keyed};
CREATE INDEX failures_ends ON failures (ends);

-- Written to see whether it can be: probe.ts.
CREATE TABLE probe (id ${integer} PRIMARY KEY, time ${integer} NOT NULL)${strict};

-- What was answered, by hour: counts.ts.
CREATE TABLE counts (
  hour ${integer} NOT NULL,
  what TEXT NOT NULL,
  n ${integer} NOT NULL,
  PRIMARY KEY (hour, what)
)${keyed};

-- What changes have noted: audit.ts moves it into the chain.
CREATE TABLE audit_news (id ${identity}, ${change})${strict};

CREATE TABLE audit (number ${integer} PRIMARY KEY, ${change}, hash TEXT NOT NULL)${strict};
CREATE INDEX audit_time ON audit (time);
CREATE INDEX audit_backup ON audit (time) WHERE action = 'backup';
CREATE INDEX audit_who ON audit (who, number);
CREATE INDEX audit_about ON audit (about, number);
`;
}

/** A table of passkeys: keyserver/sign-in/passkeys.ts. @param owners - the table of those whose they are */
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
CREATE INDEX ${name}_owner ON ${name} (owner);`;
}

/** Marks a database as a key server's in its header: "wspk". A reader's has another. */
export const APPLICATION_ID = 0x7773706b;
