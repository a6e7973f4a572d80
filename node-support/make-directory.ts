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
 * @throws the system's error
 */
export async function makeDirectory(directory: string): Promise<void> {
  try {
    await makeOne(directory);
  } catch (error) {
    if (!lacksParent(error, directory)) throw error;
    await makeDirectory(dirname(directory));
    await makeOne(directory); // once: whatever is missing now stays so
  }
}

/** {@link makeDirectory} for what is done in place. */
export function makeDirectoryNow(directory: string): void {
  try {
    makeOneNow(directory);
  } catch (error) {
    if (!lacksParent(error, directory)) throw error;
    makeDirectoryNow(dirname(directory));
    makeOneNow(directory);
  }
}

async function makeOne(directory: string): Promise<void> {
  try {
    await mkdir(directory);
  } catch (error) {
    const found = await stat(directory).catch(() => undefined);
    if (!found?.isDirectory()) throw error;
  }
}

function makeOneNow(directory: string): void {
  try {
    mkdirSync(directory);
  } catch (error) {
    if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

function lacksParent(error: unknown, directory: string): boolean {
  return systemCode(error) === 'ENOENT' && dirname(directory) !== directory;
}
