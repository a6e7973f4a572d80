/** `publisher.db`: what earlier runs wrote, so that a run writes only what changed; what this one is going to do; and the state of the workspace. */
import type { DatabaseSync } from 'node:sqlite';
import { RunLists } from './run-lists.ts';
import type { FactName, IndexedDocument, RoleRow, TargetRow, Task, Written } from './schema.ts';
import { valuesOf } from './statements.ts';

export type FilesOf = Pick<IndexedDocument, 'path' | 'head' | 'content' | 'form'>;

const FILES = 'id, path, head, content, form, placed';
const FIND_FILES = `SELECT ${FILES} FROM document WHERE path = ?`;
export type IndexedFiles = FilesOf & Pick<IndexedDocument, 'id' | 'placed'>;

/** Columns of the same without digests, and what it was written from. */
const DECISION = `id, path, iif(content IS NULL, NULL, 1) AS content, form, placed, identity, pageSet, setName, setId, options, CASE WHEN instr(teaser, '"named"') THEN teaser -> '$.named' END AS named`;
const FIND_DECISION = `SELECT ${DECISION} FROM document WHERE path = ?`;
export type IndexedDecision = Pick<
  IndexedDocument,
  'id' | 'path' | 'form' | 'placed' | 'identity' | 'pageSet' | 'setName' | 'setId' | 'options'
> & {
  /** 1 where the document is public. */
  readonly content: 1 | undefined;
  /** Paths of the documents that the page names, as a JSON list; `undefined` if there are none. */
  readonly named: string | undefined;
};

const PUBLISHED = 'path, head, headLength, setId, content, contentLength, form, headBin, contentBin';
export type PublishedDocument = FilesOf &
  Pick<IndexedDocument, 'headLength' | 'setId' | 'contentLength' | 'headBin' | 'contentBin'>;

type Bins = Pick<IndexedDocument, 'headBin' | 'contentBin'>;

/** Reason why an index knows nothing of earlier runs. Before the first run it is missing as well. */
export type LostIndex = 'missing' | 'damaged';

const DOCUMENT_COLUMNS =
  'path identity size pageSet teaser setName setId options head headLength content contentLength bytesOut form placed headBin contentBin'.split(
    ' ',
  );
const STORE_DOCUMENT = `INSERT INTO document (${DOCUMENT_COLUMNS}) VALUES (${DOCUMENT_COLUMNS.map(() => '?')})
  ON CONFLICT (path) DO UPDATE SET ${DOCUMENT_COLUMNS.map((name) => `${name} = excluded.${name}`)}`;

interface Totals {
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly pageBytes: number;
  readonly targets: number;
}

export class PublisherIndex extends RunLists {
  #totals: Totals | undefined;
  readonly lost: LostIndex | undefined;

  /** @param database - with the tables of schema.ts */
  constructor(database: DatabaseSync, lost?: LostIndex) {
    super(database);
    this.lost = lost ?? (this.fact('version') === undefined ? 'missing' : undefined);
  }

  find(path: string): IndexedDocument | undefined {
    return this.get('SELECT * FROM document WHERE path = ?', path);
  }

  /** Finds, like {@link find}, but only the columns that tell which files are there. */
  findFiles(path: string): IndexedFiles | undefined {
    return this.get(FIND_FILES, path);
  }

  /** Finds, like {@link find}, but only the columns that tell whether a document has to be written. */
  findDecision(path: string): IndexedDecision | undefined {
    return this.get(FIND_DECISION, path);
  }

  /** Finds the same of the documents in a directory, but not below it, in no order. @param directory - such as `/a/b`; empty for that of the site */
  decisionsIn(directory: string, most: number): IndexedDecision[] {
    const sql = `SELECT ${DECISION} FROM document WHERE path > ?1 || '/' AND path < ?1 || '0' AND instr(substr(path, length(?1) + 2), '/') = 0 LIMIT ?2`;
    return this.all(sql, directory, most);
  }

  documentsAt(path: string): { readonly id: number; readonly path: string }[] {
    return this.all(`SELECT id, path FROM document WHERE path = ?1 OR path > ?1 || '/' AND path < ?1 || '0'`, path);
  }

  largestId(): number {
    return this.get<{ id: number }>('SELECT coalesce(max(id), 0) AS id FROM document')?.id ?? 0;
  }

  /** Sums up all documents: bytes of their sources, of what was made of them, and of the fallback pages beside; and how many targets they have. */
  totals(): Totals {
    const sql = `SELECT coalesce(sum(size), 0) AS bytesIn, coalesce(sum(bytesOut), 0) AS bytesOut, count(*) + count(content) AS targets,
      coalesce(sum(pageBytes) FILTER (WHERE form = 'page'), 0) AS pageBytes FROM document`;
    this.#totals ??= this.get<Totals>(sql);
    return this.#totals ?? { bytesIn: 0, bytesOut: 0, pageBytes: 0, targets: 0 };
  }

  *ids(): Generator<number> {
    for (const { id } of this.each<{ id: number }>('SELECT id FROM document')) yield id;
  }

  pathOf(id: number): string {
    return this.get<{ path: string }>('SELECT path FROM document WHERE id = ?', id)?.path ?? '';
  }

  /**
   * Notes what a document became. What it was before is retired, and the bins of both are to be signed again.
   *
   * @param filesOf - the names of the files that a row describes
   */
  store(task: Task, written: Written, filesOf: (row: FilesOf) => string[]): void {
    const before = task.change === 'added' ? undefined : this.find(task.path);
    this.#totals = undefined;
    const same = before?.head === written.head && before.content === written.content && before.form === task.form;
    if (!same) {
      const needed = new Set(filesOf({ ...task, ...written }));
      for (const file of before ? filesOf(before) : []) if (!needed.has(file)) this.retire(file, false);
      for (const file of needed) this.unretire(file);
      this.#retirePlain(before, task);
      if (before) this.#noteBins(before);
      this.#noteBins(written);
    }
    this.run(STORE_DOCUMENT, ...valuesOf(DOCUMENT_COLUMNS, { ...task, ...written }));
  }

  /** Forgets a document whose source is gone, and retires its files. */
  remove(path: string, filesOf: (row: FilesOf) => string[]): void {
    const row = this.find(path);
    if (row === undefined) return;
    this.#totals = undefined;
    for (const file of filesOf(row)) this.retire(file, false);
    this.#retirePlain(row, undefined);
    this.#noteBins(row);
    this.run('DELETE FROM document WHERE path = ?', path);
  }

  /** Retires the file at a document's own name. Readers of the old publication still ask for a carrier, which is the object itself. */
  #retirePlain(before: IndexedDocument | undefined, after: Task | undefined): void {
    if (after && after.form !== 'none') this.unretire(after.path);
    else if (before && before.form !== 'none') this.retire(before.path, before.form !== 'carrier');
  }

  #noteBins({ headBin, contentBin }: Bins): void {
    for (const bin of contentBin === undefined ? [headBin] : [headBin, contentBin]) {
      this.run('INSERT OR IGNORE INTO changed_bin (bin) VALUES (?)', bin);
    }
  }

  /**
   * Finds out again which numbers the targets of all documents have. The bins and sections that they leave and come to are to be signed again.
   *
   * @param numbersOf - for a document's path, and whether it is public
   */
  renumber(numbersOf: (path: string, isPublic: boolean) => Bins): void {
    const sql = 'SELECT id, path, headBin, contentBin FROM document WHERE id > ? ORDER BY id LIMIT 1000';
    for (const before of this.pages<Bins & { id: number; path: string }>(sql)) {
      const after = numbersOf(before.path, before.contentBin !== undefined);
      if (before.headBin === after.headBin && before.contentBin === after.contentBin) continue;
      this.#noteBins(before);
      this.#noteBins(after);
      const { headBin, contentBin = null } = after;
      this.run('UPDATE document SET headBin = ?, contentBin = ? WHERE id = ?', headBin, contentBin, before.id);
    }
  }

  /** Finds documents at whose own name something else lies than should. @param pageMark - what is noted of fallback pages as they are made now */
  unplaced(pageMark: string): Generator<IndexedDocument> {
    const sql = `SELECT * FROM document WHERE id > ? AND form <> 'none' AND (placed IS NULL OR placed <> CASE form WHEN 'page' THEN ? ELSE form END) ORDER BY id LIMIT 200`;
    return this.pages(sql, pageMark);
  }

  /** @param bytes - of the file that was put there */
  setPlaced(id: number, placed: string | undefined, bytes?: number): void {
    this.#totals = undefined;
    this.run('UPDATE document SET placed = ?, pageBytes = ? WHERE id = ?', placed ?? null, bytes ?? null, id);
  }

  /** @param plain - nothing that a publication names */
  retire(file: string, plain: boolean, since?: number): void {
    this.run('INSERT OR IGNORE INTO retired (file, since, plain) VALUES (?, ?, ?)', file, since ?? null, plain ? 1 : 0);
  }

  unretire(file: string): void {
    this.run('DELETE FROM retired WHERE file = ?', file);
  }

  isRetired(file: string): boolean {
    return this.get('SELECT 1 FROM retired WHERE file = ?', file) !== undefined;
  }

  /** Notes that a publication was confirmed which needs none of the retired files. */
  startWaiting(since: number): void {
    this.run('UPDATE retired SET since = ? WHERE since IS NULL', since);
  }

  /** Finds files that are to be removed now: plain ones, and others, without which confirmed publications have done since `before`. */
  removable(before: number): string[] {
    const sql = 'SELECT file FROM retired WHERE since IS NOT NULL AND plain = 1 OR since <= ? ORDER BY file LIMIT 1000';
    return this.all<{ file: string }>(sql, before).map(({ file }) => file);
  }

  countRetired(): number {
    return this.get<{ files: number }>('SELECT count(*) AS files FROM retired WHERE plain = 0')?.files ?? 0;
  }

  *paths(): Generator<string> {
    for (const { path } of this.each<Task>('SELECT path FROM document')) yield path;
  }

  /** Returns the first 16 bits of target paths whose bins changed; above them, the numbers of sections that did. */
  changedBins(): number[] {
    return this.all<{ bin: number }>('SELECT bin FROM changed_bin ORDER BY bin').map(({ bin }) => bin);
  }

  /** Finds the documents that have a target in the bins from `first` to `last`, by the first 16 bits. */
  documentsInBins(first: number, last: number): PublishedDocument[] {
    const where = 'headBin BETWEEN ?1 AND ?2 OR contentBin BETWEEN ?1 AND ?2';
    return this.all(`SELECT ${PUBLISHED} FROM document WHERE ${where}`, first, last);
  }

  roles(): Map<string, RoleRow> {
    return new Map(this.all<RoleRow>('SELECT * FROM role').map((row) => [row.name, row]));
  }

  /** Notes a publication whose files are all there: one transaction, after which nothing is left to be signed. */
  storePublication(roles: Iterable<RoleRow>, facts: Readonly<Partial<Record<FactName, string>>>): void {
    this.transaction(() => {
      this.storeRoles(roles);
      for (const [name, value] of Object.entries(facts)) this.setFact(name as FactName, value);
      this.run('DELETE FROM changed_bin');
    });
  }

  /** Replaces rows of roles; to be called in a {@link transaction}. */
  storeRoles(roles: Iterable<RoleRow>): void {
    for (const { name, version, length, sha256, expires } of roles)
      this.run('INSERT OR REPLACE INTO role VALUES (?, ?, ?, ?, ?)', name, version, length, sha256, expires);
  }

  fact(name: FactName): string | undefined {
    return this.get<{ value: string }>('SELECT value FROM fact WHERE name = ?', name)?.value;
  }

  /** Writes a fact that is not known already: a write by itself waits for the disk three times. */
  setFact(name: FactName, value: string): void {
    const sql =
      'INSERT INTO fact (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value <> excluded.value';
    this.run(sql, name, value);
  }

  setKeySince(id: string, since: number): void {
    this.run('INSERT OR REPLACE INTO set_key (id, since) VALUES (?, ?)', id, since);
  }

  /** Returns since when sets have their keys, by name. Documents of a set may be under two: those of a section that is held back keep the earlier. */
  keysSince(): Map<string, number> {
    const sql = `SELECT name, max(since) AS since FROM (SELECT DISTINCT setName AS name, setId AS id FROM document WHERE setName IS NOT NULL)
      JOIN set_key USING (id) GROUP BY name`;
    return new Map(this.all<{ name: string; since: number }>(sql).map(({ name, since }) => [name, since]));
  }

  /** Finds the key ids of the sets that documents of a section are in, by its number. */
  setIdsIn(section: number): string[] {
    const sql = 'SELECT DISTINCT setId AS id FROM document WHERE headBin = ? AND setId IS NOT NULL';
    return this.all<{ id: string }>(sql, section).map(({ id }) => id);
  }

  /** Returns states of directories of the output, by their paths there: publisher/protect/directories.ts. */
  directories(): Map<string, string> {
    const rows = this.all<{ path: string; state: string }>('SELECT path, state FROM directory');
    return new Map(rows.map(({ path, state }) => [path, state]));
  }

  storeDirectories(states: ReadonlyMap<string, string>, gone: readonly string[]): void {
    this.transaction(() => {
      for (const path of gone) this.run('DELETE FROM directory WHERE path = ?', path);
      for (const [path, state] of states) this.run('INSERT OR REPLACE INTO directory VALUES (?, ?)', path, state);
    });
  }

  target(name: string): TargetRow | undefined {
    return this.get('SELECT * FROM target WHERE name = ?', name);
  }

  targets(): string[] {
    return this.all<TargetRow>('SELECT name FROM target').map(({ name }) => name);
  }

  /** Remembers what a target has; changes that all targets have are forgotten. */
  storeTarget({ name, version, sha256, seen, compared }: TargetRow): void {
    this.transaction(() => {
      this.run('INSERT OR REPLACE INTO target VALUES (?, ?, ?, ?, ?)', name, version, sha256, seen, compared);
      this.run('DELETE FROM change WHERE id <= (SELECT min(seen) FROM target)');
    });
  }

  /** Has the next run compare all that the target has. */
  forgetTarget(name: string): void {
    this.run('DELETE FROM target WHERE name = ?', name);
  }

  /** Finds the last change of a document, and whether lists are still to be signed that say what documents became. */
  lastChange(): { readonly id: number; readonly isSigned: boolean } {
    const sql = `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'change'), 0) AS id, NOT EXISTS (SELECT 1 FROM changed_bin) AS signed`;
    const row = this.get<{ id: number; signed: number }>(sql);
    return { id: row?.id ?? 0, isSigned: row?.signed === 1 };
  }

  changedSince(id: number): string[] {
    return this.all<Task>('SELECT path FROM change WHERE id > ?', id).map(({ path }) => path);
  }

  /** Returns paths of the documents whose files at their own names are those of the source. */
  placedPaths(): Set<string> {
    return new Set(this.all<Task>('SELECT path FROM document WHERE placed IS NOT NULL').map(({ path }) => path));
  }

  countDocuments(): number {
    return this.get<{ documents: number }>('SELECT count(*) AS documents FROM document')?.documents ?? 0;
  }
}
