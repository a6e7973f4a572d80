/** Replaces files that hold secrets: all or nothing, on the disk before anything is built on it, and undone if a later step fails. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { temporaryBeside, writeFileAtomic } from '../../node-support/files/write-file.ts';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';

/** A file that is written beside the one whose place it takes. */
export interface FileUpdate {
  /** Puts it into its place. */
  commit(): Promise<void>;
  /** Undoes whatever was done. */
  undo(): Promise<void>;
}

/**
 * Writes `bytes` beside `file`, and waits for the disk.
 *
 * @param mode - readable by its owner only, if left out
 */
export async function prepareFile(file: string, bytes: Uint8Array, mode = 0o600): Promise<FileUpdate> {
  const previous = await readIfThere(file);
  const beside = temporaryBeside(file);
  await writeFile(beside, bytes, { mode, flag: 'wx', flush: true });
  let committed = false;
  return {
    commit: async () => {
      await rename(beside, file);
      committed = true;
    },
    undo: async () => {
      await rm(beside, { force: true });
      if (!committed) return;
      if (previous === undefined) await rm(file, { force: true });
      else await writeFileAtomic(file, previous, { mode });
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
    await writeFileAtomic(file, bytes, { mode });
  } catch (error) {
    throw new PublishError('output-failed', `cannot write ${file}: ${systemReason(error)}`, { cause: error });
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
