/** Objects that a Reader keeps of what it read, seen from beside it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Names of all objects, `<site>/<head>`, small ones included. @param directory - the folder of what was read */
export function keptObjects(directory: string): string[] {
  const files = filesBelow(join(directory, 'objects')).map((file) => `${basename(join(file, '..'))}/${basename(file)}`);
  return [...files, ...smallObjects(directory)].sort();
}

/** Names of those in the database. */
export function smallObjects(directory: string): string[] {
  const file = join(directory, 'small.db');
  if (!existsSync(file)) return [];
  const database = new DatabaseSync(file, { timeout: 5000 });
  try {
    return database
      .prepare('SELECT name FROM objects')
      .all()
      .map(({ name }) => String(name));
  } catch {
    return []; // SQLite is just making it
  } finally {
    database.close();
  }
}

/** Tells whether bytes are in any file of the folder. */
export function liesIn(directory: string, bytes: string | Uint8Array): boolean {
  return filesBelow(directory).some((file) => readFileSync(file).includes(bytes));
}

/** Lists all files below a folder, if it is there. */
export function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

/** Changes a small object behind the Reader's back. */
export function changeSmall(directory: string, change: string, ...values: (string | number | Uint8Array)[]): void {
  const database = new DatabaseSync(join(directory, 'small.db'), { timeout: 5000 });
  database.prepare(change).run(...values);
  database.close();
}
