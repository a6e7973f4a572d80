/**
 * Makes directories with those above them. Node's own `recursive` tries for ever where a directory that is there answers that it is not, as
 * `/proc` does when one is to be made in it.
 */
import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCode } from './system-error.ts';

/**
 * Makes a directory where there is none.
 *
 * @param mode - of all that are made
 * @throws the system's error
 */
export async function makeDirectory(directory: string, mode?: number): Promise<void> {
  try {
    await makeOne(directory, mode);
  } catch (error) {
    if (!lacksParent(error, directory)) throw error;
    await makeDirectory(dirname(directory), mode);
    await makeOne(directory, mode); // once: whatever is missing now stays so
  }
}

/** {@link makeDirectory} for what is done in place. */
export function makeDirectoryNow(directory: string, mode?: number): void {
  try {
    makeOneNow(directory, mode);
  } catch (error) {
    if (!lacksParent(error, directory)) throw error;
    makeDirectoryNow(dirname(directory), mode);
    makeOneNow(directory, mode);
  }
}

async function makeOne(directory: string, mode?: number): Promise<void> {
  try {
    await mkdir(directory, { mode });
  } catch (error) {
    const found = await stat(directory).catch(() => undefined);
    if (!found?.isDirectory()) throw error;
  }
}

function makeOneNow(directory: string, mode?: number): void {
  try {
    mkdirSync(directory, { mode });
  } catch (error) {
    if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

function lacksParent(error: unknown, directory: string): boolean {
  return systemCode(error) === 'ENOENT' && dirname(directory) !== directory;
}
