/** What the present run is going to do: lists in a file of their own, which SQLite removes. */
import { DocumentTable, type Row } from './documents.ts';
import type { Change, Task } from './rows.ts';
import { fromRow, valuesOf } from './statements.ts';

const COLUMNS = 'path change file size lastModified identity mediaType pageSet teaser setName options form'.split(' ');
const ADD = `INSERT INTO task (${COLUMNS}) VALUES (${COLUMNS.map(() => '?')})`;

export class TaskLists extends DocumentTable {
  addTask(task: Task): void {
    this.run(ADD, ...valuesOf(COLUMNS, { ...task }));
  }

  /** The tasks, in the order in which they were found; more of them than fit into memory. */
  *tasks(): Generator<Task> {
    const statement = this.statement('SELECT * FROM task WHERE id > ? ORDER BY id LIMIT 200');
    for (let last = 0; ; ) {
      const rows = statement.all(last) as Row[];
      if (rows.length === 0) return;
      last = Number(rows.at(-1)?.id);
      yield* rows.map((row) => fromRow<Task>(row));
    }
  }

  /** What the site has at a path, once all tasks are done. */
  planned(path: string): 'public' | 'protected' | undefined {
    const sql =
      'SELECT setName FROM task WHERE path = ?1 UNION ALL SELECT setName FROM document WHERE path = ?1 AND id NOT IN (SELECT id FROM gone) LIMIT 1';
    const row = this.statement(sql).get(path);
    return row && (row.setName === null ? 'public' : 'protected');
  }

  countTasks(): number {
    return this.number('SELECT count(*) AS number FROM task');
  }

  addGone(id: number, path: string): void {
    this.run('INSERT OR IGNORE INTO gone (id, path) VALUES (?, ?)', id, path);
  }

  /** Paths of documents whose sources are gone, in their order. */
  *gone(limit = -1): Generator<string> {
    const sql = 'SELECT path FROM gone ORDER BY path LIMIT ?';
    for (const { path } of this.statement(sql).iterate(limit)) yield String(path);
  }

  /** Names of the sets whose documents are to be changed in some way, in their order. */
  setsOf(change: Change): string[] {
    const sql = 'SELECT DISTINCT setName FROM task WHERE change = ? AND setName IS NOT NULL ORDER BY setName';
    return this.statement(sql)
      .all(change)
      .map(({ setName }) => String(setName));
  }

  /** Paths that are to be changed in some way, in their order. */
  *pathsOf(change: Change, limit = -1): Generator<string> {
    const sql = 'SELECT path FROM task WHERE change = ? ORDER BY path LIMIT ?';
    for (const { path } of this.statement(sql).iterate(change, limit)) yield String(path);
  }
}
