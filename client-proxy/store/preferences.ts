/** Choices of the reader on the Reader's own pages: settings, and sites that a publisher asked for and the reader declined. Not secret. */
import type { DatabaseSync } from 'node:sqlite';
import type { SealedDatabase } from './sealed-database.ts';

export class Preferences {
  readonly #database: DatabaseSync;
  readonly #write: SealedDatabase['writeQuietly'];

  constructor(sealed: SealedDatabase) {
    this.#database = sealed.database;
    this.#write = (work) => sealed.writeQuietly(work);
  }

  /** Returns all settings that were ever chosen, as texts; settings.ts knows what they mean. */
  settings(): Map<string, string> {
    const rows = this.#database.prepare('SELECT name, value FROM settings').all();
    return new Map(rows.map(({ name, value }) => [String(name), String(value)]));
  }

  /** @param changes - `undefined`: as if it had never been chosen. All or nothing */
  saveSettings(changes: ReadonlyMap<string, string | undefined>): void {
    const insert = this.#database.prepare('INSERT OR REPLACE INTO settings VALUES (?, ?)');
    const remove = this.#database.prepare('DELETE FROM settings WHERE name = ?');
    this.#write(() => {
      for (const [name, value] of changes) {
        if (value === undefined) remove.run(name);
        else insert.run(name, value);
      }
    });
  }

  isDeclined(binding: number, site: string): boolean {
    return (
      this.#database.prepare('SELECT 1 FROM declined WHERE binding = ? AND site = ?').get(binding, site) !== undefined
    );
  }

  /** The reader does not want this site of a publisher, and shall not be asked again. Goes with the binding. */
  decline(binding: number, site: string): void {
    this.#write(() => this.#database.prepare('INSERT OR IGNORE INTO declined VALUES (?, ?)').run(binding, site));
  }
}
