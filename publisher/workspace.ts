/** Where a publisher's files lie: everything beside `wispr.json`. */
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { openLocked } from '../node-support/files/lock.ts';
import { removeTemporaryFiles } from '../node-support/files/write-file.ts';
import { saysReadOnly } from '../node-support/sqlite.ts';
import { describeUnreadable, permissionHint, systemCode, systemReason } from '../node-support/system-error.ts';
import { PublishError } from './errors.ts';
import { MAXIMUM_SEALED_FILE_LENGTH } from './keys/limits.ts';

/** The names of a workspace's files. */
export const CONFIGURATION_FILE = 'wispr.json';
const KEY_STORE_FILE = 'publisher.keys';
const ROOT_KEYS_FILE = 'root.keys';
const BUNDLE_FILE = 'keys.bundle';
const INDEX_FILE = 'publisher.index';
const LAST_PUBLISHED_FILE = 'publisher.last';
const LOCK_FILE = 'publisher.lock';

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
  /** What earlier runs have written; may be lost. */
  readonly index: string;
  /** Where to it was published last, and what was withdrawn. */
  readonly lastPublished: string;
  /** Empty; locked by the process that is at work here. */
  readonly lock: string;
}

/** The workspace whose configuration is `configurationFile`. */
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
    index: file(INDEX_FILE),
    lastPublished: file(LAST_PUBLISHED_FILE),
    lock: file(LOCK_FILE),
  };
}

/**
 * The bytes of the workspace's key store.
 *
 * @throws PublishError `key-store-missing`
 */
export async function readKeyStore({ keyStore }: Workspace): Promise<Uint8Array> {
  try {
    const bytes = await readFile(keyStore);
    return bytes.subarray(0, MAXIMUM_SEALED_FILE_LENGTH + 1);
  } catch (error) {
    throw new PublishError('key-store-missing', describeUnreadable(keyStore, error), {
      cause: error,
      hint: keyStoreHint(error),
    });
  }
}

/** A backup is for what is lost: nobody shall put an old one in the place of keys that are there. */
function keyStoreHint(error: unknown): string {
  if (systemCode(error) === 'ENOENT')
    return 'restore it from your backup; without it, nobody can sign for this site again';
  return (
    permissionHint(error) ?? 'put publisher.keys there; if it is there and cannot be read, restore it from your backup'
  );
}

/**
 * Keeps other `wispr` processes out while `work` runs.
 *
 * @throws PublishError `workspace-busy`, `output-failed`
 */
export async function withLock<Result>(
  { lock }: Pick<Workspace, 'lock'>,
  work: () => Promise<Result>,
): Promise<Result> {
  using _held = takeLock(lock);
  removeTemporaryFiles(dirname(lock));
  return await work();
}

function takeLock(lock: string): Disposable {
  let held: Disposable | undefined;
  try {
    held = openLocked(lock);
  } catch (error) {
    const reason = saysReadOnly(error) ? 'it cannot be written' : systemReason(error);
    throw new PublishError('output-failed', `cannot lock ${lock}: ${reason}`, {
      cause: error,
      hint: 'the directory of wispr.json and what lies in it has to be writable for the user who runs wispr (chown, chmod), on a disk that is neither full nor mounted read-only',
    });
  }
  if (held) return held;
  throw new PublishError('workspace-busy', 'another wispr is at work on this site', { hint: 'wait for it' });
}
