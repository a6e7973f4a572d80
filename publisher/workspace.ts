/** Where a publisher's files lie: everything beside `wispr.json`. */
import { readFile, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createFile } from '../node-support/create-file.ts';
import { describeUnreadable, systemCode, systemReason } from '../node-support/system-error.ts';
import { PublishError } from './errors.ts';
import { MAXIMUM_SEALED_FILE_LENGTH } from './keys/limits.ts';

/** The names of a workspace's files. */
export const CONFIGURATION_FILE = 'wispr.json';
const KEY_STORE_FILE = 'publisher.keys';
const ROOT_KEYS_FILE = 'root.keys';
const BUNDLE_FILE = 'keys.bundle';
const INDEX_FILE = 'publisher.index';

/** The locks that this process holds: another process with our id, long dead, may have left one. */
const held = new Set<string>();

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
      hint: 'restore it from your backup; without it, nobody can sign for this site again',
    });
  }
}

/**
 * Keeps a second `wispr protect` out while `work` runs. A lock that a process left behind when it was killed is taken over.
 *
 * @throws PublishError `workspace-busy`
 */
export async function withLock<Result>({ keyStore }: Workspace, work: () => Promise<Result>): Promise<Result> {
  const lock = `${keyStore}.lock`;
  await takeLock(lock);
  try {
    return await work();
  } finally {
    held.delete(lock);
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<void> {
  for (let attempt = 0; attempt < 2; attempt++) {
    if (makeLock(lock)) {
      held.add(lock);
      return;
    }
    if (await isHeld(lock)) break;
    await rm(lock, { force: true });
  }
  throw new PublishError('workspace-busy', 'another wispr is at work on this site', {
    hint: `wait for it; if there is none, remove ${lock}`,
  });
}

/** Makes the lock, with our process id in it; `false` if there is one. */
function makeLock(lock: string): boolean {
  try {
    return createFile(lock, String(process.pid), 0o600);
  } catch (error) {
    throw new PublishError('output-failed', `cannot make ${lock}: ${systemReason(error)}`, { cause: error });
  }
}

/** Whether the process that a lock names is alive. */
async function isHeld(lock: string): Promise<boolean> {
  const holder = Number(await readFile(lock, 'utf8').catch(() => '0'));
  if (!Number.isSafeInteger(holder) || holder <= 0) return false;
  if (holder === process.pid) return held.has(lock);
  try {
    process.kill(holder, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}
