/** The lists of the present run in `publisher.db`: files that are decided about later, tasks, and documents that are gone. */
import type { Change, LaterFile, Task } from './schema.ts';
import { Statements, valuesOf } from './statements.ts';

const TASK_COLUMNS = 'path change file size lastModified identity mediaType pageSet teaser setName options form'.split(
  ' ',
);
const ADD_TASK = `INSERT INTO task (${TASK_COLUMNS}) VALUES (${TASK_COLUMNS.map(() => '?')})`;

export class RunLists extends Statements {
  addTask(task: Task): void {
    this.run(ADD_TASK, ...valuesOf(TASK_COLUMNS, { ...task }));
  }

  addLater({ path, file, size, lastModified, identity }: LaterFile): void {
    const sql = 'INSERT INTO later (path, file, size, lastModified, identity) VALUES (?, ?, ?, ?, ?)';
    this.run(sql, path, file, size, lastModified ?? null, identity);
  }

  later(): Generator<LaterFile> {
    return this.pages<LaterFile & { id: number }>('SELECT * FROM later WHERE id > ? ORDER BY id LIMIT 200');
  }

  /** Yields the tasks, in the order in which they were found; more of them than fit into memory. */
  tasks(): Generator<Task> {
    return this.pages<Task & { id: number }>('SELECT * FROM task WHERE id > ? ORDER BY id LIMIT 200');
  }

  /** Finds the document that the site has at a path, once all tasks are done. */
  planned(path: string): 'public' | 'protected' | undefined {
    const sql =
      'SELECT setName FROM task WHERE path = ?1 UNION ALL SELECT setName FROM document WHERE path = ?1 AND id NOT IN (SELECT id FROM gone) LIMIT 1';
    const row = this.get<Pick<Task, 'setName'>>(sql, path);
    return row && (row.setName === undefined ? 'public' : 'protected');
  }

  countTasks(): number {
    return this.get<{ tasks: number }>('SELECT count(*) AS tasks FROM task')?.tasks ?? 0;
  }

  addGone(id: number, path: string): void {
    this.run('INSERT OR IGNORE INTO gone (id, path) VALUES (?, ?)', id, path);
  }

  *gone(limit = -1): Generator<string> {
    for (const { path } of this.each<Task>('SELECT path FROM gone ORDER BY path LIMIT ?', limit)) yield path;
  }

  /** Paths that are to be changed in some way, in their order. */
  pathsOf(change: Change, limit: number): string[] {
    const sql = 'SELECT path FROM task WHERE change = ? ORDER BY path LIMIT ?';
    return this.all<Task>(sql, change, limit).map(({ path }) => path);
  }

  /** Names of the sets whose documents are to be changed in some way. */
  setsOf(change: Change): string[] {
    const sql = 'SELECT DISTINCT setName FROM task WHERE change = ? AND setName IS NOT NULL';
    return this.all<{ setName: string }>(sql, change).map(({ setName }) => setName);
  }
}
