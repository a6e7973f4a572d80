/** Finds the origins at which the key server is reached, for the commands beside it. */
import type { KeyServerConfig } from '../config/config.ts';
import { misconfigured } from '../errors.ts';
import { type Database, SET_SETTING } from '../storage/database.ts';
import type { Origins } from './import-bundle.ts';

const SETTING = 'dev-origins';

/** Notes the origins: with `--dev` they may hold ports that were free at the start. */
export async function rememberDevOrigins(database: Database, origins: Origins): Promise<void> {
  await database.run(SET_SETTING, SETTING, JSON.stringify(origins));
}

export async function forgetDevOrigins(database: Database): Promise<void> {
  await database.run('DELETE FROM settings WHERE name = ?', SETTING);
}

/** The origins by the last start with `--dev`, or else by the configuration. @throws KeyServerError `configuration-invalid` */
export async function knownOrigins(database: Database, config: KeyServerConfig): Promise<Origins> {
  const noted = await database.first<{ value: string }>('SELECT value FROM settings WHERE name = ?', SETTING);
  if (noted) return JSON.parse(noted.value);
  if (config.origin && config.reading.origin) return { keyServer: config.origin, reading: config.reading.origin };
  throw misconfigured('the origins of key server and reading site are not configured');
}
