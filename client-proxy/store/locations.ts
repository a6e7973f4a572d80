/** Where the reader's files are: the XDG Base Directory Specification, which says that relative values are ignored. */
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** The folder of the database. */
export function defaultDataDirectory(environment: Environment = process.env): string {
  return join(baseDirectory(environment.XDG_DATA_HOME, '.local', 'share'), 'wispr');
}

/** The file of the storage key; not beside the database, so that a copy of the one is not a copy of both. */
export function defaultKeyFile(environment: Environment = process.env): string {
  return join(baseDirectory(environment.XDG_CONFIG_HOME, '.config'), 'wispr', 'reader.key');
}

/** The folder of what was read; beside the database, where that was put somewhere else than usual. */
export function cacheDirectoryFor(dataDirectory: string | undefined, environment: Environment = process.env): string {
  if (dataDirectory !== undefined) return join(dataDirectory, 'cache');
  return join(baseDirectory(environment.XDG_CACHE_HOME, '.cache'), 'wispr');
}

/** One of the specification's folders; relative values are ignored. */
export function baseDirectory(value: string | undefined, ...fallback: string[]): string {
  return value !== undefined && isAbsolute(value) ? value : join(homedir(), ...fallback);
}
