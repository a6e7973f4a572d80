import { randomBytes } from 'node:crypto';
import { linkSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Creates a file whole or not at all, and only where none is.
 *
 * @param mode - its permissions, for example `0o600`
 * @returns whether it was created; `false` if there was one already, which stays as it is
 * @throws the system's error where the folder cannot be written
 */
export function createFile(path: string, content: string, mode: number): boolean {
  // A name of its own: what a run that was killed left behind must not pass for the file.
  const beside = `${path}.new-${randomBytes(4).toString('hex')}`;
  try {
    writeFileSync(beside, content, { mode, flag: 'wx', flush: true });
    linkSync(beside, path); // unlike a rename, refuses where there is one
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(beside, { force: true });
  }
}
