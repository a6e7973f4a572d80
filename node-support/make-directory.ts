/**
 * Makes directories with those above them, readable as is asked for whatever the umask. Node's own `recursive` tries for ever where a
 * directory that is there answers that it is not, as `/proc` does when one is to be made in it.
 */
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCode } from './system-error.ts';

/** Web servers can read what lies in it; whether the group can add to it, the umask says. */
const OPEN = 0o775;
/** Rights that are given whatever the umask. */
const SURE = 0o755;

/**
 * Makes a directory where there is none.
 *
 * @param mode - of all that are made. Default: `0o755`, or `0o775` where the umask leaves it
 * @throws the system's error
 */
export async function makeDirectory(directory: string, mode = OPEN): Promise<void> {
  try {
    await makeOne(directory, mode);
  } catch (error) {
    if (!lacksParent(error, directory)) throw error;
    await makeDirectory(dirname(directory), mode);
    await makeOne(directory, mode); // tried once: whatever is missing now stays so
  }
}

/** {@link makeDirectory} for what is done in place. */
export function makeDirectoryNow(directory: string, mode = OPEN): void {
  try {
    makeOneNow(directory, mode);
  } catch (error) {
    if (!lacksParent(error, directory)) throw error;
    makeDirectoryNow(dirname(directory), mode);
    makeOneNow(directory, mode);
  }
}

async function makeOne(directory: string, mode: number): Promise<void> {
  try {
    await mkdir(directory, { mode });
  } catch (error) {
    const found = await stat(directory).catch(() => undefined);
    if (!found?.isDirectory()) throw error;
    return;
  }
  const { mode: found } = await stat(directory);
  if ((mode & SURE & ~found) !== 0) await chmod(directory, found | (mode & SURE)).catch(ifNoPermissions);
}

function makeOneNow(directory: string, mode: number): void {
  try {
    mkdirSync(directory, { mode });
  } catch (error) {
    if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) throw error;
    return;
  }
  const { mode: found } = statSync(directory);
  try {
    if ((mode & SURE & ~found) !== 0) chmodSync(directory, found | (mode & SURE));
  } catch (error) {
    ifNoPermissions(error);
  }
}

/** Ignores that a file system has none. */
function ifNoPermissions(error: unknown): void {
  if (systemCode(error) !== 'EPERM') throw error;
}

function lacksParent(error: unknown, directory: string): boolean {
  return systemCode(error) === 'ENOENT' && dirname(directory) !== directory;
}
