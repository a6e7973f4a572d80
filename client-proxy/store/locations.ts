/** Places of the reader's files: the XDG Base Directory Specification, which says that relative values are ignored. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { ReaderError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import type { Passphrase, StoreOptions } from './types.ts';

/** The database, and what SQLite keeps beside it. */
export const DATABASE_FILES = ['reader.db', 'reader.db-wal'] as const;

function defaultDataDirectory(): string {
  return join(baseDirectory(process.env.XDG_DATA_HOME, '.local', 'share'), 'wispr');
}

/** The file of the storage key; not beside the database, so that a copy of the one is not a copy of both. */
function defaultKeyFile(): string {
  return join(baseDirectory(process.env.XDG_CONFIG_HOME, '.config'), 'wispr', 'reader.key');
}

/** The folder of what was read; beside the database, where that was put somewhere else than usual. */
export function cacheDirectoryFor(dataDirectory: string | undefined): string {
  if (dataDirectory !== undefined) return join(dataDirectory, 'cache');
  return join(baseDirectory(process.env.XDG_CACHE_HOME, '.cache'), 'wispr');
}

export interface ReaderFiles {
  readonly dataDirectory: string;
  readonly cacheDirectory: string;
  /** `undefined`: it was not named, and the database is not the usual one. */
  readonly keyFile: string | undefined;
}

/** Finds the reader's files, from what was given and what is usual. */
export function readerFiles({ dataDirectory, keyFile }: { dataDirectory?: string; keyFile?: string }): ReaderFiles {
  return {
    dataDirectory: dataDirectory ?? defaultDataDirectory(),
    cacheDirectory: cacheDirectoryFor(dataDirectory),
    keyFile: keyFile ?? (dataDirectory === undefined ? defaultKeyFile() : undefined),
  };
}

/** Finds one of the specification's folders; relative values are ignored. */
function baseDirectory(value: string | undefined, ...fallback: string[]): string {
  return value !== undefined && isAbsolute(value) ? value : join(homedir(), ...fallback);
}

/** Places of the reader's data, and what opens them, as the functions of the reader take it. */
export interface StorageOptions {
  readonly dataDirectory?: string;
  /** Named, it is where the key of a fresh database will be; left out, that is the system's keyring where there is one. */
  readonly keyFile?: string;
  /** Protects a fresh database, and opens one that is protected. */
  readonly passphrase?: Passphrase;
  /** Asks for a passphrase where one is needed and none was given. */
  readonly askPassphrase?: Passphrase;
  readonly limits?: Limits;
}

/** The same with everything that was left out. */
export function storeOptions(options: StorageOptions): StoreOptions {
  const { dataDirectory, keyFile, passphrase, askPassphrase } = options;
  return {
    directory: dataDirectory ?? defaultDataDirectory(),
    keyFile: keyFile ?? defaultKeyFile(),
    keyring: keyFile === undefined,
    passphrase,
    askPassphrase,
    limits: options.limits,
  };
}

/** Tells whether a reader has ever kept anything here. */
export function hasDatabase(directory = defaultDataDirectory()): boolean {
  return existsSync(join(directory, DATABASE_FILES[0]));
}

/** @throws ReaderError `not-connected` */
export function requireDatabase(directory: string): void {
  if (hasDatabase(directory)) return;
  throw new ReaderError('not-connected', `there is no reader's database in ${directory}`, { typed: true });
}
