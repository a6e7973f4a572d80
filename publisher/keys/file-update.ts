/** Replaces files that hold secrets: all or nothing, on the disk before anything is built on it, and undone if a later step fails. */
import { randomBytes } from 'node:crypto';
import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';

/** A file that is written beside the one whose place it takes. */
export interface FileUpdate {
  /** Puts it into its place. */
  commit(): Promise<void>;
  /** Undoes whatever was done. */
  undo(): Promise<void>;
}

/** Removes what an interrupted run left beside `file`. Nobody else may be at work on it. */
export async function removeLeftovers(file: string): Promise<void> {
  const prefix = `${basename(file)}.new-`;
  const isLeft = (name: string) => name.startsWith(prefix) && /^[0-9a-f]{8}$/.test(name.slice(prefix.length));
  const left = (await readdir(dirname(file))).filter(isLeft);
  await Promise.all(left.map((name) => rm(join(dirname(file), name), { force: true })));
}

/**
 * Writes `bytes` beside `file`, and waits for the disk.
 *
 * @param mode - readable by its owner only, if left out
 */
export async function prepareFile(file: string, bytes: Uint8Array, mode = 0o600): Promise<FileUpdate> {
  const previous = await readIfThere(file);
  const beside = await writeBeside(file, bytes, mode);
  let committed = false;
  return {
    commit: async () => {
      await putInPlace(beside, file);
      committed = true;
    },
    undo: async () => {
      await rm(beside, { force: true });
      if (!committed) return;
      if (previous === undefined) await rm(file, { force: true });
      else await putInPlace(await writeBeside(file, previous, mode), file);
    },
  };
}

/**
 * Puts a file into its place in one step, or leaves what was there.
 *
 * @throws PublishError `output-failed`
 */
export async function replaceFile(file: string, bytes: Uint8Array, mode = 0o600): Promise<void> {
  try {
    const update = await prepareFile(file, bytes, mode);
    await update.commit();
  } catch (error) {
    throw new PublishError('output-failed', `cannot write ${file}: ${systemReason(error)}`, { cause: error });
  }
}

/**
 * Writes a file that must not exist yet, readable by its owner only, and waits for the disk.
 *
 * @throws the system's error, `EEXIST` if it exists
 */
export async function createFile(file: string, bytes: Uint8Array, mode = 0o600): Promise<void> {
  const handle = await open(file, 'wx', mode);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

/** The bytes of a file; `undefined` if there is none. */
export async function readIfThere(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function writeBeside(file: string, bytes: Uint8Array, mode: number): Promise<string> {
  const beside = `${file}.new-${randomBytes(4).toString('hex')}`;
  await createFile(beside, bytes, mode);
  return beside;
}

async function putInPlace(beside: string, file: string): Promise<void> {
  await rename(beside, file);
  const directory = await open(dirname(file));
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
