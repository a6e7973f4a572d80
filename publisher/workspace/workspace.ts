/** Paths of a publisher's files: everything beside `wispr.json`. */
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { removeTemporaryFiles } from '../../node-support/files/write-file.ts';
import { isSqliteError } from '../../node-support/sqlite.ts';
import { whenUnreadable } from '../errors.ts';
import { asPublishError, openIndex } from './index/open.ts';
import type { PublisherIndex } from './index/publisher-index.ts';

/** The bytes of the largest file of secrets that is read. */
export const MAXIMUM_SEALED_FILE_LENGTH = 16 * 1024 * 1024;

export const CONFIGURATION_FILE = 'wispr.json';
const KEY_STORE_FILE = 'publisher.keys';
const ROOT_KEYS_FILE = 'root.keys';
const BUNDLE_FILE = 'keys.bundle';
const DATABASE_FILE = 'publisher.db';

/** The files of one workspace, absolute. */
export interface Workspace {
  readonly directory: string;
  readonly configuration: string;
  /** Encrypted under the passphrase; stays offline. */
  readonly keyStore: string;
  /** The root key, encrypted likewise; may be kept elsewhere. */
  readonly rootKeys: string;
  /** Sealed to the key server; handed to it, and never published. */
  readonly bundle: string;
  /** Notes of earlier runs, and the lock of the workspace; may be lost. */
  readonly database: string;
}

export function workspaceOf(configurationFile: string): Workspace {
  const configuration = resolve(configurationFile);
  const directory = dirname(configuration);
  const file = (name: string) => join(directory, name);
  return {
    directory,
    configuration,
    keyStore: file(KEY_STORE_FILE),
    rootKeys: file(ROOT_KEYS_FILE),
    bundle: file(BUNDLE_FILE),
    database: file(DATABASE_FILE),
  };
}

/** @throws PublishError `key-store-refused` */
export async function readKeyStore({ keyStore }: Workspace): Promise<Uint8Array> {
  const bytes = await readFile(keyStore).catch(whenUnreadable('key-store-refused', keyStore));
  return bytes.subarray(0, MAXIMUM_SEALED_FILE_LENGTH + 1);
}

/**
 * Opens the database of a workspace, which keeps other `wispr` processes out while `work` runs.
 *
 * @throws PublishError `store-busy`, `output-foreign`, `output-failed`
 */
export async function withLock<Result>(
  { database, directory }: Pick<Workspace, 'database' | 'directory'>,
  work: (index: PublisherIndex) => Promise<Result>,
): Promise<Result> {
  using index = openIndex(database);
  try {
    removeTemporaryFiles(directory);
    return await work(index);
  } catch (error) {
    throw isSqliteError(error) ? asPublishError(error, database) : error;
  }
}
