/** Reads and replaces the small files of a workspace. */
import { readFile } from 'node:fs/promises';
import { writeFileAtomic } from '../../node-support/files/write-file.ts';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';

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
