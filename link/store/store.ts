/** Memory of a relay, in SQLite: docs/spec/link.md section 7. Values that cannot be read or written are as if they were not there. */
import { X509Certificate } from 'node:crypto';
import { chmodSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { reasonOf } from '../../core/errors.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { openLocked } from '../../node-support/files/lock.ts';
import { databaseReason, headerNumber, inTransaction, isSqliteError } from '../../node-support/sqlite.ts';
import { LinkError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { hashOf } from '../substitution/compressed.ts';
import type { FarMemory } from '../substitution/far.ts';
import type { NearMemory } from '../substitution/near.ts';

/** "wlnk" */
const APPLICATION_ID = 0x776c6e6b;
const VERSION = 2;
const HASH = 32;
const SECONDS_A_DAY = 86_400;

/** `names.chain` and `names.clients`: hashes, one behind the other. `used`: days since 1970; `expires`: seconds. */
const SCHEMA = `
CREATE TABLE certificates (hash BLOB PRIMARY KEY, bytes BLOB NOT NULL, expires INTEGER NOT NULL, used INTEGER NOT NULL) STRICT;
CREATE INDEX certificates_entry ON certificates (substr(hash, 1, 8));
CREATE INDEX certificates_used ON certificates (used);
CREATE INDEX certificates_expires ON certificates (expires);
CREATE TABLE names (name TEXT PRIMARY KEY, chain BLOB NOT NULL, clients BLOB NOT NULL, used INTEGER NOT NULL) STRICT;
CREATE INDEX names_used ON names (used);
PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION};
`;

interface StoreOptions {
  /** Seconds since 1970. */
  readonly now?: () => number;
  /** Hears once that the store cannot be used. */
  readonly failed?: (reason: string) => void;
}

export class CertificateStore implements NearMemory, FarMemory {
  readonly #database: DatabaseSync;
  readonly #now: () => number;
  #failed: ((reason: string) => void) | undefined;

  /** @throws LinkError `link-store` */
  constructor(file: string, { now = nowInSeconds, failed }: StoreOptions = {}) {
    this.#database = open(file);
    this.#now = now;
    this.#failed = failed;
    this.purge();
  }

  /** Leaves out certificates that have expired. A name and port of which nothing is known has what was filled in for the name, or for its wildcard. */
  recall(name: string): { chain: Buffer[]; clientHashes: Buffer[] } {
    const nothing = { chain: [], clientHashes: [] };
    return this.#attempt(nothing, () => {
      const find = this.#database.prepare('SELECT name, chain, clients, used FROM names WHERE name = ?');
      const [filled, wildcard] = filledNames(name);
      const row = find.get(name) ?? find.get(filled) ?? find.get(wildcard);
      if (row === undefined) return nothing;
      const hashes = split(row.chain);
      if (Number(row.used) < this.#today) this.#touch(String(row.name), hashes);
      return { chain: hashes.flatMap((hash) => this.#certificate(hash)), clientHashes: split(row.clients) };
    });
  }

  learnChain(name: string, chain: readonly Buffer[]): void {
    this.#attempt(undefined, () => {
      const hashes = Buffer.concat(chain.map(hashOf));
      if (this.#column(name, 'chain')?.equals(hashes) && chain.every((each) => this.#certificate(hashOf(each))[0]))
        return;
      inTransaction(this.#database, () => {
        this.#keep(chain);
        this.#writeName(name, hashes, this.#column(name, 'clients') ?? Buffer.alloc(0));
        this.#bound();
      });
    });
  }

  learnClient(name: string, hashes: readonly Buffer[]): void {
    this.#attempt(undefined, () => {
      const known = this.#column(name, 'clients') ?? Buffer.alloc(0);
      const others = split(known).filter((one) => !hashes.some((hash) => hash.equals(one)));
      const newest = Buffer.concat([...hashes, ...others].slice(0, LIMITS.clientCertificates));
      if (newest.equals(known)) return;
      this.#writeName(name, this.#column(name, 'chain') ?? Buffer.alloc(0), newest);
      this.#bound();
    });
  }

  forget(name: string): void {
    // An empty row stands before what was filled in for the name, which other ports and hosts may still need.
    this.#attempt(undefined, () => {
      this.#writeName(name, Buffer.alloc(0), Buffer.alloc(0));
      this.#bound();
    });
  }

  find(entry: Buffer): Buffer | undefined {
    return this.#attempt(undefined, () => {
      const find = this.#database.prepare(
        'SELECT bytes FROM certificates WHERE substr(hash, 1, 8) = ? AND expires > ?',
      );
      const row = find.get(entry, this.#now());
      return row && asBuffer(row.bytes);
    });
  }

  learn(chain: readonly Buffer[]): void {
    this.#attempt(undefined, () =>
      inTransaction(this.#database, () => {
        this.#keep(chain);
        this.#bound();
      }),
    );
  }

  /** Deletes what has expired, or was not used for {@link LIMITS.storedDays}. */
  purge(): void {
    this.#attempt(undefined, () => {
      const oldest = this.#today - LIMITS.storedDays;
      for (const table of ['names', 'certificates'])
        this.#database.prepare(`DELETE FROM ${table} WHERE used < ?`).run(oldest);
      this.#database.prepare('DELETE FROM certificates WHERE expires <= ?').run(this.#now());
    });
  }

  close(): void {
    this.#database.close();
  }

  get #today(): number {
    return Math.floor(this.#now() / SECONDS_A_DAY);
  }

  #touch(name: string, hashes: readonly Buffer[]): void {
    inTransaction(this.#database, () => {
      this.#database.prepare('UPDATE names SET used = ? WHERE name = ?').run(this.#today, name);
      const update = this.#database.prepare('UPDATE certificates SET used = ? WHERE hash = ?');
      for (const hash of hashes) update.run(this.#today, hash);
    });
  }

  #certificate(hash: Buffer): Buffer[] {
    const find = this.#database.prepare('SELECT bytes FROM certificates WHERE hash = ? AND expires > ?');
    const row = find.get(hash, this.#now());
    return row ? [asBuffer(row.bytes)] : [];
  }

  #column(name: string, column: 'chain' | 'clients'): Buffer | undefined {
    const row = this.#database.prepare(`SELECT ${column} AS hashes FROM names WHERE name = ?`).get(name);
    return row && asBuffer(row.hashes);
  }

  #writeName(name: string, chain: Buffer, clients: Buffer): void {
    this.#database.prepare('REPLACE INTO names VALUES (?, ?, ?, ?)').run(name, chain, clients, this.#today);
  }

  #keep(chain: readonly Buffer[]): void {
    const keep = this.#database.prepare(
      'INSERT INTO certificates VALUES (?, ?, ?, ?) ON CONFLICT (hash) DO UPDATE SET used = excluded.used',
    );
    for (const certificate of chain) {
      const expires = expiryOf(certificate);
      if (expires > this.#now()) keep.run(hashOf(certificate), certificate, expires, this.#today);
    }
  }

  #bound(): void {
    const bounds = { names: LIMITS.storedNames, certificates: LIMITS.storedCertificates };
    for (const [table, most] of Object.entries(bounds))
      this.#database.exec(
        `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} ORDER BY used DESC, rowid DESC LIMIT -1 OFFSET ${most})`,
      );
  }

  /** A full disk must not keep a connection from passing. */
  #attempt<Result>(otherwise: Result, work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (!isSqliteError(error)) throw error;
      this.#failed?.(reasonOf(error));
      this.#failed = undefined;
      return otherwise;
    }
  }
}

function open(file: string): DatabaseSync {
  const refuse = (why: string, cause?: unknown) =>
    new LinkError('link-store', `${file} cannot be used: ${why}`, { fields: { file }, cause });
  let database: DatabaseSync | undefined;
  try {
    database = openLocked(file);
    if (database === undefined) throw refuse('another relay has it');
    chmodSync(file, 0o600);
    const [version, id] = [headerNumber(database, 'user_version'), headerNumber(database, 'application_id')];
    const isOld = version === 1 && id === APPLICATION_ID;
    if (isOld) database.exec('DROP TABLE IF EXISTS names; DROP TABLE IF EXISTS certificates'); // relays learn them anew
    if (isOld || (version === 0 && id === 0)) prepare(database);
    else if (version !== VERSION || id !== APPLICATION_ID) throw refuse('it is of another program or version');
    return database;
  } catch (error) {
    database?.close();
    throw error instanceof LinkError ? error : refuse(databaseReason(error, file), error);
  }
}

function prepare(database: DatabaseSync): void {
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  inTransaction(database, () => database.exec(SCHEMA));
}

/** Names under which a chain for a name and port may have been filled in. */
function filledNames(name: string): [name: string, wildcard: string] {
  const host = name.replace(/:\d+$/, '');
  return [host, host.replace(/^[^.]+/, '*')];
}

/** @returns seconds since 1970; the end of time for what cannot be read */
function expiryOf(certificate: Buffer): number {
  try {
    return Math.floor(new X509Certificate(certificate).validToDate.getTime() / 1000);
  } catch {
    return Number.MAX_SAFE_INTEGER;
  }
}

function split(hashes: unknown): Buffer[] {
  const all = asBuffer(hashes);
  return Array.from({ length: all.length / HASH }, (_, index) => all.subarray(index * HASH, (index + 1) * HASH));
}

function asBuffer(bytes: unknown): Buffer {
  return Buffer.from(bytes as Uint8Array);
}
