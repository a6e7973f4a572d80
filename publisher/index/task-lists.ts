/** What the present run is going to do: lists in a file of their own, which SQLite removes. */
import { DocumentTable, type Row } from './documents.ts';
import type { Change, Form, Task } from './rows.ts';

const TASK_COLUMNS =
  'path, change, file, size, last_modified, identity, media_type, page_set, teaser, set_name, options, form';
export class TaskLists extends DocumentTable {
  addTask(task: Task): void {
    this.run(
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
    const statement = this.statement('SELECT * FROM task WHERE id > ? ORDER BY id LIMIT 200');
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
    const row = this.statement(sql).get(path);
    return row && (row.set_name === null ? 'public' : 'protected');
  }

  /** How many tasks there are, and of how many bytes. */
  countTasks(): { count: number; bytes: number } {
    const row = this.statement('SELECT count(*) AS count, coalesce(sum(size), 0) AS bytes FROM task').get();
    return row as { count: number; bytes: number };
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
    const sql = 'SELECT DISTINCT set_name FROM task WHERE change = ? AND set_name IS NOT NULL ORDER BY set_name';
    return this.statement(sql)
      .all(change)
      .map(({ set_name }) => String(set_name));
  }

  /** Paths that are to be changed in some way, in their order. */
  *pathsOf(change: Change, limit = -1): Generator<string> {
    const sql = 'SELECT path FROM task WHERE change = ? ORDER BY path LIMIT ?';
    for (const { path } of this.statement(sql).iterate(change, limit)) yield String(path);
  }
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
