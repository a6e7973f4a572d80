import { linkSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Creates a file whole or not at all, and only where none is.
 *
 * @returns whether it was created; `false` if there was one already, which stays as it is
 * @throws the system's error where the folder cannot be written
 */
export function createFile(path: string, content: string, mode: number): boolean {
  const beside = `${path}.${process.pid}.new`;
  try {
    writeFileSync(beside, content, { mode, flag: 'wx', flush: true });
    linkSync(beside, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(beside, { force: true });
  }
}
