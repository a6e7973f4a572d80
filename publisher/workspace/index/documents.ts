/** The documents of `publisher.db`, and the files that they do without. */
import type { SQLOutputValue } from 'node:sqlite';
import type { Form, IndexedDecision, IndexedDocument, IndexedFiles, Task } from './rows.ts';
import { fromRow, Statements, valuesOf } from './statements.ts';

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

/** What all documents come to. */
export interface Totals {
  readonly documents: number;
  /** Bytes of their sources, and of what was made of them. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** How many targets they have. */
  readonly targets: number;
  /** Bytes of the fallback pages beside their objects. */
  readonly pageBytes: number;
}

/** A row as SQLite gives it. */
export type Row = Record<string, SQLOutputValue>;

const COLUMNS =
  'path identity size pageSet teaser setName setId options head headLength content contentLength bytesOut form placed headBin contentBin'.split(
    ' ',
  );

const STORE = `INSERT INTO document (${COLUMNS}) VALUES (${COLUMNS.map(() => '?')})
  ON CONFLICT (path) DO UPDATE SET ${COLUMNS.map((name) => `${name} = excluded.${name}`)}`;

export class DocumentTable extends Statements {
  /** What is known of the document at `path`. */
  find(path: string): IndexedDocument | undefined {
    const row = this.statement('SELECT * FROM document WHERE path = ?').get(path);
    return row && fromRow(row);
  }

  /** As {@link find}, but no more than tells which files are there. */
  findFiles(path: string): IndexedFiles | undefined {
    const sql = 'SELECT id, head, content, form, placed FROM document WHERE path = ?';
    const row = this.arrays(sql).get(path) as unknown as
      | [number, string, string | null, Form, string | null]
      | undefined;
    if (row === undefined) return undefined;
    const [id, head, content, form, placed] = row;
    return { id, path, head, content: content ?? undefined, form, placed: placed ?? undefined };
  }

  /** As {@link find}, but no more than tells whether a document has to be written. */
  findDecision(path: string): IndexedDecision | undefined {
    const sql =
      'SELECT id, head, content, form, placed, identity, pageSet, setName, setId, options FROM document WHERE path = ?';
    const row = this.arrays(sql).get(path) as unknown as (string | null)[] | undefined;
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
    return this.number('SELECT coalesce(max(id), 0) AS number FROM document');
  }

  /** What all documents come to. */
  totals(): Totals {
    const sql = `SELECT count(*) AS documents, coalesce(sum(size), 0) AS bytesIn, coalesce(sum(bytesOut), 0) AS bytesOut, count(*) + count(content) AS targets,
      coalesce(sum(pageBytes) FILTER (WHERE form = 'page'), 0) AS pageBytes FROM document`;
    return this.statement(sql).get() as unknown as Totals;
  }

  /** Ids of all documents, in no order. */
  *ids(): Generator<number> {
    for (const row of this.arrays('SELECT id FROM document').iterate()) yield (row as unknown as [number])[0];
  }

  pathOf(id: number): string {
    return String(this.statement('SELECT path FROM document WHERE id = ?').get(id)?.path);
  }

  /**
   * Notes what a document became. What it was before is retired, and the bins of both are to be signed again.
   *
   * @param fileOf - the names of the files that a row describes
   */
  store(task: Task, written: Written, filesOf: (row: FilesOf) => string[]): void {
    const before = task.change === 'added' ? undefined : this.find(task.path);
    const same = before?.head === written.head && before.content === written.content && before.form === task.form;
    if (!same) {
      const needed = new Set(filesOf({ ...task, ...written }));
      for (const file of before ? filesOf(before) : []) if (!needed.has(file)) this.retire(file, false);
      for (const file of needed) this.unretire(file);
      this.#retirePlain(before, task);
      if (before) this.#noteBins(before);
      this.#noteBins(written);
    }
    this.run(STORE, ...valuesOf(COLUMNS, { ...task, ...written }));
  }

  /** Forgets a document whose source is gone, and retires its files. */
  remove(path: string, filesOf: (row: FilesOf) => string[]): void {
    const row = this.find(path);
    if (row === undefined) return;
    for (const file of filesOf(row)) this.retire(file, false);
    this.#retirePlain(row, undefined);
    this.#noteBins(row);
    this.run('DELETE FROM document WHERE path = ?', path);
  }

  /** A carrier is the object itself, which readers of the old publication still ask for; any other file at a document's own name is not. */
  #retirePlain(before: IndexedDocument | undefined, after: Task | undefined): void {
    if (after && after.form !== 'none') this.unretire(after.path);
    else if (before && before.form !== 'none') this.retire(before.path, before.form !== 'carrier');
  }

  #noteBins({ headBin, contentBin }: Pick<Written, 'headBin' | 'contentBin'>): void {
    for (const bin of contentBin === undefined ? [headBin] : [headBin, contentBin]) {
      this.run('INSERT OR IGNORE INTO changed_bin (bin) VALUES (?)', bin);
    }
  }

  /**
   * Finds out again which numbers the targets of all documents have. The bins and sections that they leave and come to are to be signed again.
   *
   * @param numbersOf - for a document's path, and whether it is public
   */
  renumber(numbersOf: (path: string, isPublic: boolean) => Pick<Written, 'headBin' | 'contentBin'>): void {
    const rows = this.statement(
      'SELECT id, path, headBin, contentBin FROM document WHERE id > ? ORDER BY id LIMIT 1000',
    );
    for (let last = 0; ; ) {
      const some = rows.all(last) as Row[];
      if (some.length === 0) return;
      last = Number(some.at(-1)?.id);
      for (const row of some) this.#renumberOne(row, numbersOf(row.path as string, row.contentBin !== null));
    }
  }

  #renumberOne(row: Row, after: Pick<Written, 'headBin' | 'contentBin'>): void {
    const before = { headBin: Number(row.headBin), contentBin: numberOrNothing(row.contentBin) };
    if (before.headBin === after.headBin && before.contentBin === after.contentBin) return;
    this.#noteBins(before);
    this.#noteBins(after);
    const sql = 'UPDATE document SET headBin = ?, contentBin = ? WHERE id = ?';
    this.run(sql, after.headBin, after.contentBin ?? null, row.id as number);
  }

  /** Documents at whose own name something else lies than should. @param pageMark - what is noted of fallback pages as they are made now */
  *unplaced(pageMark: string): Generator<IndexedDocument> {
    const sql = `SELECT * FROM document WHERE id > ? AND form <> 'none' AND (placed IS NULL OR placed <> CASE form WHEN 'page' THEN ? ELSE form END) ORDER BY id LIMIT 200`;
    for (let last = 0; ; ) {
      const rows = this.statement(sql).all(last, pageMark) as Row[];
      if (rows.length === 0) return;
      last = Number(rows.at(-1)?.id);
      yield* rows.map((row) => fromRow<IndexedDocument>(row));
    }
  }

  /** @param bytes - of the file that was put there */
  setPlaced(id: number, placed: string | undefined, bytes?: number): void {
    this.run('UPDATE document SET placed = ?, pageBytes = ? WHERE id = ?', placed ?? null, bytes ?? null, id);
  }

  retire(file: string, plain: boolean, since?: number): void {
    this.run('INSERT OR IGNORE INTO retired (file, since, plain) VALUES (?, ?, ?)', file, since ?? null, plain ? 1 : 0);
  }

  unretire(file: string): void {
    this.run('DELETE FROM retired WHERE file = ?', file);
  }

  isRetired(file: string): boolean {
    return this.statement('SELECT 1 FROM retired WHERE file = ?').get(file) !== undefined;
  }

  /** A publication is visible that needs none of the retired files. */
  startWaiting(now: number): void {
    this.run('UPDATE retired SET since = ? WHERE since IS NULL', now);
  }

  /** Files that are to be removed now: plain ones, and those without which publications have done since `before`. */
  removable(before: number): string[] {
    const sql = 'SELECT file FROM retired WHERE plain = 1 OR since <= ? ORDER BY file LIMIT 1000';
    return this.statement(sql)
      .all(before)
      .map(({ file }) => String(file));
  }

  countRetired(): number {
    return this.number('SELECT count(*) AS number FROM retired WHERE plain = 0');
  }
}

/** What tells the files of a document. */
export type FilesOf = Pick<IndexedDocument, 'path' | 'head' | 'content' | 'form'>;

function numberOrNothing(value: SQLOutputValue | undefined): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}
