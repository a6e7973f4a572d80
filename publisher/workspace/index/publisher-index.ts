/** `publisher.db`: what earlier runs wrote, so that a run writes only what changed, and the state of the workspace. */
import type { DatabaseSync } from 'node:sqlite';
import type { IndexedDocument, RoleRow } from './rows.ts';
import { fromRow } from './statements.ts';
import { TaskLists } from './task-lists.ts';

export type { FilesOf } from './documents.ts';

/** Facts about the workspace's last run, by name. */
export type FactName =
  /** base64url of the descriptor that is published. */
  | 'descriptor'
  /** What the key bundle was made of. */
  | 'bundle'
  /** The start of the machine since which all files were found or written. */
  | 'boot'
  /** Whose pages lie in `out`: `protect` or `rollback`. */
  | 'pages'
  /** Bits of the number of bins. */
  | 'bins'
  /** The version of the last publication. */
  | 'version'
  /** Key id of the publisher's key. */
  | 'publisher'
  /** Hash of the key store, which is encrypted, as the last publication left it. */
  | 'keyStore'
  /** The publisher's identity. */
  | 'root'
  /** Key ids of the roles that signed. */
  | 'signers'
  /** What the role `targets` names. */
  | 'targets'
  /** The sections, and who signed them: publisher/protect/sections.ts. */
  | 'sections'
  /** Key server and SHA-256 of the key bundle that was handed over last. */
  | 'handedOver'
  /** base64url of the last timestamp that was signed or seen: publisher/authority/. */
  | 'timestamp';

/** What is published of a document. */
export type PublishedDocument = Pick<
  IndexedDocument,
  'path' | 'head' | 'headLength' | 'setId' | 'content' | 'contentLength' | 'form' | 'headBin' | 'contentBin'
>;

/** Why an index knows nothing of earlier runs. Before the first run it is missing as well. */
export type LostIndex = 'missing' | 'damaged';

export class PublisherIndex extends TaskLists {
  lost: LostIndex | undefined;

  /** @param database - with the tables of schema.ts */
  constructor(database: DatabaseSync, lost?: LostIndex) {
    super(database);
    this.lost = lost;
  }

  /** First 16 bits of target paths whose bins changed; above them, the numbers of sections that did. */
  changedBins(): number[] {
    return this.statement('SELECT bin FROM changed_bin ORDER BY bin')
      .all()
      .map(({ bin }) => Number(bin));
  }

  /** The documents that have a target in the bins from `first` to `last`, by the first 16 bits. */
  documentsInBins(first: number, last: number): PublishedDocument[] {
    const sql =
      'SELECT path, head, headLength, setId, content, contentLength, form, headBin, contentBin FROM document WHERE headBin BETWEEN ?1 AND ?2 OR contentBin BETWEEN ?1 AND ?2';
    return this.statement(sql)
      .all(first, last)
      .map((row) => fromRow(row));
  }

  roles(): Map<string, RoleRow> {
    const rows = this.statement(
      'SELECT name, version, length, sha256, expires FROM role',
    ).all() as unknown as RoleRow[];
    return new Map(rows.map((row) => [row.name, row]));
  }

  /** Notes a publication whose files are all there: one transaction, after which nothing is left to be signed. */
  storePublication(roles: Iterable<RoleRow>, facts: Readonly<Partial<Record<FactName, string>>>): void {
    this.transaction(() => {
      this.#storeRoles(roles);
      for (const [name, value] of Object.entries(facts)) this.setFact(name as FactName, value);
      this.run('DELETE FROM changed_bin');
    });
  }

  /** Replaces rows of roles. */
  storeRoles(roles: Iterable<RoleRow>): void {
    this.transaction(() => this.#storeRoles(roles));
  }

  #storeRoles(roles: Iterable<RoleRow>): void {
    for (const { name, version, length, sha256, expires } of roles)
      this.run('INSERT OR REPLACE INTO role VALUES (?, ?, ?, ?, ?)', name, version, length, sha256, expires);
  }

  fact(name: FactName): string | undefined {
    const row = this.statement('SELECT value FROM fact WHERE name = ?').get(name);
    return row && String(row.value);
  }

  /** What is known already is not written once more: by itself that would wait for the disk three times. */
  setFact(name: FactName, value: string): void {
    const sql =
      'INSERT INTO fact (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value <> excluded.value';
    this.run(sql, name, value);
  }

  setKeySince(id: string, since: number): void {
    this.run('INSERT OR REPLACE INTO set_key (id, since) VALUES (?, ?)', id, since);
  }

  /** Since when sets have their keys, by their names. Documents of a set may be under two: those of a section that is held back stay under the earlier. */
  keysSince(): Map<string, number> {
    const sql = `SELECT name, max(since) AS since FROM (SELECT DISTINCT setName AS name, setId AS id FROM document WHERE setName IS NOT NULL)
      JOIN set_key USING (id) GROUP BY name`;
    const rows = this.statement(sql).all() as { name: string; since: number }[];
    return new Map(rows.map(({ name, since }) => [name, since]));
  }

  /** The key ids of the sets that documents of a section are in, by its number. */
  setIdsIn(section: number): string[] {
    const sql = 'SELECT DISTINCT setId AS id FROM document WHERE headBin = ? AND setId IS NOT NULL';
    return (this.statement(sql).all(section) as { id: string }[]).map(({ id }) => id);
  }
}
