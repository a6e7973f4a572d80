/** Under which origins the key server is reached, for the commands beside it. */
import type { KeyServerConfig } from './config.ts';
import { KeyServerError } from './errors.ts';
import type { Origins } from './publication/import-bundle.ts';
import { type Database, first, run } from './storage/database.ts';

const SETTING = 'dev-origins';

/** With `--dev` the origins may hold ports that were free at the start, so they are noted. */
export function rememberDevOrigins(database: Database, origins: Origins): void {
  run(database, 'INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)', SETTING, JSON.stringify(origins));
}

export function forgetDevOrigins(database: Database): void {
  run(database, 'DELETE FROM settings WHERE name = ?', SETTING);
}

/**
 * The origins by the last start with `--dev`, or else by the configuration.
 *
 * @throws KeyServerError `configuration-invalid`
 */
export function knownOrigins(database: Database, config: KeyServerConfig): Origins {
  const noted = first<{ value: string }>(database, 'SELECT value FROM settings WHERE name = ?', SETTING);
  if (noted) return JSON.parse(noted.value);
  if (config.origin && config.reading.origin) return { keyServer: config.origin, reading: config.reading.origin };
  throw new KeyServerError('configuration-invalid', 'the origins of key server and reading site are not configured');
}
