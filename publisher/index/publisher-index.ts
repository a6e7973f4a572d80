/** `publisher.index`: what was written in earlier runs, so that only what changed is written in this one. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { inTransaction } from '../../node-support/sqlite.ts';
import type {
  Change,
  Form,
  IndexedDecision,
  IndexedDocument,
  IndexedFiles,
  RetiredFile,
  RoleRow,
  Task,
} from './rows.ts';

/** Facts about the workspace's last run, by name. */
export type FactName =
  /** base64url of the descriptor that is published. */
  | 'descriptor'
  /** The settings that are published. */
  | 'settings'
  /** What the key bundle was made of. */
  | 'bundle'
  /** Bits of the number of bins. */
  | 'bins'
  /** The version of the last publication. */
  | 'version'
  /** Key id of the publisher's key. */
  | 'publisher'
  /** The publisher's identity. */
  | 'root'
  /** Key ids of the roles that signed. */
  | 'signers'
  /** What the role `targets` names. */
  | 'targets';

/** What a document became; the rest of its row comes from its {@link Task}. */
export interface Written {
  readonly setId: string | undefined;
  readonly head: string;
  readonly headLength: number;
  readonly content: string | undefined;
  readonly contentLength: number | undefined;
  readonly bytesOut: number;
  /** What lies at its own name already. */
  readonly placed: string | undefined;
  readonly headBin: number;
  readonly contentBin: number | undefined;
}

type Row = Record<string, SQLInputValue>;

const TASK_COLUMNS =
  'path, change, file, size, last_modified, identity, media_type, page_set, teaser, set_name, options, form';
const DOCUMENT_COLUMNS =
  'path, identity, size, page_set, teaser, set_name, set_id, options, head, head_length, content, content_length, bytes_out, form, placed, head_bin, content_bin';

const STORE = `INSERT INTO document (${DOCUMENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (path) DO UPDATE SET ${DOCUMENT_COLUMNS.split(', ')
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}`;

export class PublisherIndex implements Disposable {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  /** @param database - with the tables of schema.ts */
  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  /** Does `work` as one transaction. */
  transaction<Result>(work: () => Result): Result {
    return inTransaction(this.#database, work);
  }

  /** As {@link transaction}, for work that waits: for the lists of tasks, which nobody else sees. */
  async listing(work: () => Promise<void>): Promise<void> {
    this.#database.exec('BEGIN');
    try {
      await work();
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  /** What is known of the document at `path`. */
  find(path: string): IndexedDocument | undefined {
    const row = this.#statement('SELECT * FROM document WHERE path = ?').get(path);
    return row && documentOf(row as Row);
  }

  /** As {@link find}, but no more than tells which files are there. */
  findFiles(path: string): IndexedFiles | undefined {
    const sql = 'SELECT id, head, content, form, placed FROM document WHERE path = ?';
    const row = this.#arrays(sql).get(path) as unknown as
      | [number, string, string | null, Form, string | null]
      | undefined;
    if (row === undefined) return undefined;
    const [id, head, content, form, placed] = row;
    return { id, path, head, content: content ?? undefined, form, placed: placed ?? undefined };
  }

  /** As {@link find}, but no more than tells whether a document has to be written. */
  findDecision(path: string): IndexedDecision | undefined {
    const sql =
      'SELECT id, head, content, form, placed, identity, page_set, set_name, set_id, options FROM document WHERE path = ?';
    const row = this.#arrays(sql).get(path) as unknown as (string | null)[] | undefined;
    if (row === undefined) return undefined;
    const [id, head, content, form, placed, identity, pageSet, setName, setId, options] = row;
    return {
      id: Number(id),
      path,
      head: head ?? '',
      content: content ?? undefined,
      form: form as Form,
      placed: placed ?? undefined,
      identity: identity ?? '',
      pageSet: pageSet ?? undefined,
      setName: setName ?? undefined,
      setId: setId ?? undefined,
      options: options ?? '',
    };
  }

  /** The largest id of a document: how large a set of ids has to be. */
  largestId(): number {
    return this.#number('SELECT coalesce(max(id), 0) AS number FROM document');
  }

  /** Documents, bytes of their sources, and bytes of what was made of them. */
  totals(): { documents: number; bytesIn: number; bytesOut: number; targets: number } {
    const sql =
      'SELECT count(*) AS documents, coalesce(sum(size), 0) AS bytesIn, coalesce(sum(bytes_out), 0) AS bytesOut, count(*) + count(content) AS targets FROM document';
    return this.#statement(sql).get() as { documents: number; bytesIn: number; bytesOut: number; targets: number };
  }

  /** Every document, in no order. */
  *each(): Generator<IndexedDocument> {
    for (const row of this.#statement('SELECT * FROM document').iterate()) yield documentOf(row as Row);
  }

  /** Ids and paths of all documents, in no order. */
  *paths(): Generator<{ id: number; path: string }> {
    yield* this.#statement('SELECT id, path FROM document').iterate() as Iterable<{ id: number; path: string }>;
  }

  /**
   * Notes what a document became. What it was before is retired, and the bins of both are to be signed again.
   *
   * @param fileOf - the names of the files that a row describes
   */
  store(task: Task, written: Written, filesOf: (row: FilesOf) => string[]): void {
    const before = this.find(task.path);
    const same = before?.head === written.head && before.content === written.content && before.form === task.form;
    if (!same) {
      const needed = new Set(filesOf({ ...task, ...written }));
      for (const file of before ? filesOf(before) : []) if (!needed.has(file)) this.retire(file, false);
      for (const file of needed) this.unretire(file);
      this.#retirePlain(before, task);
      this.#noteBins(task.path);
    }
    this.#run(STORE, ...rowOf(task, written));
    if (!same) this.#noteBins(task.path);
  }

  /** Forgets a document whose source is gone, and retires its files. */
  remove(path: string, filesOf: (row: FilesOf) => string[]): void {
    const row = this.find(path);
    if (row === undefined) return;
    for (const file of filesOf(row)) this.retire(file, false);
    this.#retirePlain(row, undefined);
    this.#noteBins(path);
    this.#run('DELETE FROM document WHERE path = ?', path);
  }

  /** A carrier is the object itself, which readers of the old publication still ask for; any other file at a document's own name is not. */
  #retirePlain(before: IndexedDocument | undefined, after: Task | undefined): void {
    if (after && after.form !== 'none') this.unretire(after.path);
    else if (before && before.form !== 'none') this.retire(before.path, before.form !== 'carrier');
  }

  #noteBins(path: string): void {
    this.#run(
      'INSERT OR IGNORE INTO changed_bin SELECT head_bin FROM document WHERE path = ?1 UNION SELECT content_bin FROM document WHERE path = ?1 AND content_bin IS NOT NULL',
      path,
    );
  }

  // What is to be done

  addTask(task: Task): void {
    this.#run(
      `INSERT INTO task (${TASK_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      task.path,
      task.change,
      task.file,
      task.size,
      task.lastModified ?? null,
      task.identity,
      task.mediaType,
      task.pageSet ?? null,
      task.teaser ?? null,
      task.setName ?? null,
      task.options,
      task.form,
    );
  }

  /** The tasks, in the order in which they were found; more of them than fit into memory. */
  *tasks(): Generator<Task> {
    const statement = this.#statement('SELECT * FROM task WHERE id > ? ORDER BY id LIMIT 200');
    for (let last = 0; ; ) {
      const rows = statement.all(last) as Row[];
      if (rows.length === 0) return;
      last = Number(rows.at(-1)?.id);
      yield* rows.map(taskOf);
    }
  }

  /** What the site has at a path, once all tasks are done. */
  planned(path: string): 'public' | 'protected' | undefined {
    const sql =
      'SELECT set_name FROM task WHERE path = ?1 UNION ALL SELECT set_name FROM document WHERE path = ?1 AND id NOT IN (SELECT id FROM gone) LIMIT 1';
    const row = this.#statement(sql).get(path);
    return row && (row.set_name === null ? 'public' : 'protected');
  }

  /** How many tasks there are, and of how many bytes. */
  countTasks(): { count: number; bytes: number } {
    const row = this.#statement('SELECT count(*) AS count, coalesce(sum(size), 0) AS bytes FROM task').get();
    return row as { count: number; bytes: number };
  }

  addGone(id: number, path: string): void {
    this.#run('INSERT OR IGNORE INTO gone (id, path) VALUES (?, ?)', id, path);
  }

  /** Paths of documents whose sources are gone, in their order. */
  *gone(limit = -1): Generator<string> {
    const sql = 'SELECT path FROM gone ORDER BY path LIMIT ?';
    for (const { path } of this.#statement(sql).iterate(limit)) yield String(path);
  }

  /** Paths that are to be changed in some way, in their order. */
  *pathsOf(change: Change, limit = -1): Generator<string> {
    const sql = 'SELECT path FROM task WHERE change = ? ORDER BY path LIMIT ?';
    for (const { path } of this.#statement(sql).iterate(change, limit)) yield String(path);
  }

  // What lies at the documents' own names

  /** Documents at whose own name something else lies than `placed` says. */
  *unplaced(placed: (form: Form) => string): Generator<IndexedDocument> {
    const sql = `SELECT * FROM document WHERE id > ? AND form <> 'none' AND (placed IS NULL OR placed <> CASE form WHEN 'page' THEN ? ELSE ? END) ORDER BY id LIMIT 200`;
    for (let last = 0; ; ) {
      const rows = this.#statement(sql).all(last, placed('page'), placed('copy')) as Row[];
      if (rows.length === 0) return;
      last = Number(rows.at(-1)?.id);
      yield* rows.map(documentOf);
    }
  }

  setPlaced(id: number, placed: string | undefined): void {
    this.#run('UPDATE document SET placed = ? WHERE id = ?', placed ?? null, id);
  }

  // Files that nothing needs

  retire(file: string, plain: boolean, since?: number): void {
    this.#run(
      'INSERT OR IGNORE INTO retired (file, since, plain) VALUES (?, ?, ?)',
      file,
      since ?? null,
      plain ? 1 : 0,
    );
  }

  unretire(file: string): void {
    this.#run('DELETE FROM retired WHERE file = ?', file);
  }

  isRetired(file: string): boolean {
    return this.#statement('SELECT 1 FROM retired WHERE file = ?').get(file) !== undefined;
  }

  /** A publication is visible that needs none of the retired files. */
  startWaiting(now: number): void {
    this.#run('UPDATE retired SET since = ? WHERE since IS NULL', now);
  }

  /** Files that are to be removed now: plain ones, and those without which publications have done since `before`. */
  removable(before: number): RetiredFile[] {
    const sql = 'SELECT file, since, plain FROM retired WHERE plain = 1 OR since <= ? ORDER BY file LIMIT 1000';
    return (this.#statement(sql).all(before) as Row[]).map(({ file, since, plain }) => ({
      file: String(file),
      since: since === null ? undefined : Number(since),
      plain: plain === 1,
    }));
  }

  countRetired(): number {
    return this.#number('SELECT count(*) AS number FROM retired WHERE plain = 0');
  }

  // Publications

  /** First 16 bits of target paths whose bins changed. */
  changedBins(): number[] {
    return this.#statement('SELECT bin FROM changed_bin ORDER BY bin')
      .all()
      .map(({ bin }) => Number(bin));
  }

  /** The documents that have a target in the bins from `first` to `last`, by the first 16 bits. */
  documentsInBins(first: number, last: number): IndexedDocument[] {
    const sql =
      'SELECT * FROM document WHERE head_bin BETWEEN ?1 AND ?2 UNION SELECT * FROM document WHERE content_bin BETWEEN ?1 AND ?2';
    return (this.#statement(sql).all(first, last) as Row[]).map(documentOf);
  }

  roles(): Map<string, RoleRow> {
    const rows = this.#statement(
      'SELECT name, version, length, sha256, expires FROM role',
    ).all() as unknown as RoleRow[];
    return new Map(rows.map((row) => [row.name, row]));
  }

  /** Notes a publication whose files are all there: one transaction, after which nothing is left to be signed. */
  storePublication(roles: Iterable<RoleRow>, facts: Readonly<Partial<Record<FactName, string>>>): void {
    this.transaction(() => {
      for (const { name, version, length, sha256, expires } of roles) {
        this.#run('INSERT OR REPLACE INTO role VALUES (?, ?, ?, ?, ?)', name, version, length, sha256, expires);
      }
      for (const [name, value] of Object.entries(facts)) this.setFact(name as FactName, value);
      this.#run('DELETE FROM changed_bin');
    });
  }

  fact(name: FactName): string | undefined {
    const row = this.#statement('SELECT value FROM fact WHERE name = ?').get(name);
    return row && String(row.value);
  }

  setFact(name: FactName, value: string): void {
    this.#run('INSERT OR REPLACE INTO fact (name, value) VALUES (?, ?)', name, value);
  }

  setKeySince(id: string, since: number): void {
    this.#run('INSERT OR REPLACE INTO set_key (id, since) VALUES (?, ?)', id, since);
  }

  /** Since when a set has its key. */
  keySince(id: string): number | undefined {
    const row = this.#statement('SELECT since FROM set_key WHERE id = ?').get(id);
    return row && Number(row.since);
  }

  /** The key ids of all sets that documents are in, by their names. */
  setIds(): Map<string, string> {
    const sql = 'SELECT set_name AS name, set_id AS id FROM document WHERE set_name IS NOT NULL GROUP BY set_name';
    const rows = this.#statement(sql).all() as { name: string; id: string }[];
    return new Map(rows.map(({ name, id }) => [name, id]));
  }

  #number(sql: string): number {
    return Number(this.#statement(sql).get()?.number);
  }

  #run(sql: string, ...values: SQLInputValue[]): void {
    this.#statement(sql).run(...values);
  }

  /** For what is asked a million times: rows as arrays take half the time. */
  #arrays(sql: string): StatementSync {
    return this.#statement(sql, true);
  }

  #statement(sql: string, arrays = false): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      statement.setReturnArrays(arrays);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}

/** What tells the files of a document. */
export type FilesOf = Pick<IndexedDocument, 'path' | 'head' | 'content' | 'form'>;

/** In the order of {@link DOCUMENT_COLUMNS}. */
function rowOf(task: Task, written: Written): SQLInputValue[] {
  const { path, identity, size, pageSet, teaser, setName, options, form } = task;
  const { setId, head, headLength, content, contentLength, bytesOut, placed, headBin, contentBin } = written;
  const values = [
    ...[path, identity, size, pageSet, teaser, setName, setId, options, head, headLength],
    ...[content, contentLength, bytesOut, form, placed, headBin, contentBin],
  ];
  return values.map((value) => value ?? null);
}

function documentOf(row: Row): IndexedDocument {
  return {
    id: row.id as number,
    path: row.path as string,
    identity: row.identity as string,
    size: row.size as number,
    pageSet: (row.page_set ?? undefined) as string | undefined,
    teaser: (row.teaser ?? undefined) as string | undefined,
    setName: (row.set_name ?? undefined) as string | undefined,
    setId: (row.set_id ?? undefined) as string | undefined,
    options: row.options as string,
    head: row.head as string,
    headLength: row.head_length as number,
    content: (row.content ?? undefined) as string | undefined,
    contentLength: (row.content_length ?? undefined) as number | undefined,
    bytesOut: row.bytes_out as number,
    form: row.form as Form,
    placed: (row.placed ?? undefined) as string | undefined,
    headBin: row.head_bin as number,
    contentBin: (row.content_bin ?? undefined) as number | undefined,
  };
}

function taskOf(row: Row): Task {
  return {
    path: row.path as string,
    change: row.change as Task['change'],
    file: row.file as string,
    size: row.size as number,
    lastModified: (row.last_modified ?? undefined) as number | undefined,
    identity: row.identity as string,
    mediaType: row.media_type as string,
    pageSet: (row.page_set ?? undefined) as string | undefined,
    teaser: (row.teaser ?? undefined) as string | undefined,
    setName: (row.set_name ?? undefined) as string | undefined,
    options: row.options as string,
    form: row.form as Form,
  };
}
