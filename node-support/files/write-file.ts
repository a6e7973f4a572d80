/**
 * Atomic writes: content goes into a temporary file beside its place and is renamed, so that readers see the previous file or the new one, whole.
 * Durable writes (the default) are on the disk, name included, before the function returns; the others may be lost in a power cut, never torn.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemCode } from '../system-error.ts';

const TEMPORARY_NAME = /^\.wispr-new-[0-9a-f]{12}$/;

interface WriteOptions {
  /** Permissions, for example `0o644`. */
  readonly mode?: number;
  readonly durable?: boolean;
}

/** A new name in the directory of `file`. Short, because names may be as long as the system allows. */
export function temporaryBeside(file: string): string {
  return join(dirname(file), `.wispr-new-${randomBytes(6).toString('hex')}`);
}

/** Tells whether a file name is that of an unfinished write. */
export function isTemporaryName(name: string): boolean {
  return TEMPORARY_NAME.test(name);
}

/** Removes the temporary files that killed processes left in a directory. No other process may be writing there. */
export function removeTemporaryFiles(directory: string): void {
  for (const name of readdirSync(directory)) if (isTemporaryName(name)) rmSync(join(directory, name), { force: true });
}

/**
 * Opens a file that is not there yet for writing, with the very permissions that are asked for, whatever the umask: a web server may have to read it.
 *
 * @throws the system's error; there is no file then
 */
export function openNew(file: string, mode: number): number {
  const descriptor = openSync(file, 'wx', mode);
  try {
    setMode(descriptor, mode);
  } catch (error) {
    closeSync(descriptor);
    rmSync(file, { force: true });
    throw error;
  }
  return descriptor;
}

/** Undoes what the umask took. */
function setMode(descriptor: number, mode: number): void {
  if ((fstatSync(descriptor).mode & 0o777) === mode) return;
  try {
    fchmodSync(descriptor, mode);
  } catch (error) {
    if (systemCode(error) !== 'EPERM') throw error; // a file system that has no permissions
  }
}

/** Writes a file, or replaces it. @throws the system's error; the previous file is unchanged then */
export function writeFileAtomicSync(file: string, content: Uint8Array | string, options: WriteOptions = {}): void {
  const { mode = 0o600, durable = true } = options;
  replaceFileSync(file, (temporary) => writeNew(temporary, content, mode, durable), { durable });
}

function writeNew(file: string, content: Uint8Array | string, mode: number, flush: boolean): void {
  const descriptor = openNew(file, mode);
  try {
    writeFileSync(descriptor, content, { flush });
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Creates a file, durably, and only if there is none.
 *
 * @param mode - permissions, for example `0o600`
 * @returns whether it was created; `false` if there is one already, which is unchanged
 * @throws the system's error if the directory cannot be written
 */
export function createFile(file: string, content: Uint8Array | string, mode = 0o600): boolean {
  const temporary = temporaryBeside(file);
  try {
    writeNew(temporary, content, mode, true);
    giveNewName(temporary, file);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw naming(file, error);
  } finally {
    rmSync(temporary, { force: true });
  }
  return true;
}

/** Gives a finished file a second name, durably. @throws the system's error, `EEXIST` where a file has the name */
export function giveNewName(temporary: string, file: string): void {
  linkSync(temporary, file);
  syncDirectorySync(dirname(file));
}

/** Puts a finished file into the place of another, durably. */
export function moveIntoPlace(temporary: string, file: string): void {
  renameSync(temporary, file);
  syncDirectorySync(dirname(file));
}

/**
 * Replaces a file by one that `write` makes under a temporary name, and has brought to the disk where it is `durable`.
 *
 * @throws what `write` and the system throw; the previous file is unchanged and the temporary one removed then
 */
export async function replaceFile(
  file: string,
  write: (temporary: string) => Promise<void>,
  { durable = true }: Pick<WriteOptions, 'durable'> = {},
): Promise<void> {
  const temporary = temporaryBeside(file);
  try {
    await write(temporary);
    await rename(temporary, file);
    if (durable) await syncDirectory(dirname(file));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw naming(file, error);
  }
}

/** Does {@link replaceFile} synchronously. */
export function replaceFileSync(
  file: string,
  write: (temporary: string) => void,
  { durable = true }: Pick<WriteOptions, 'durable'> = {},
): void {
  const temporary = temporaryBeside(file);
  try {
    write(temporary);
    renameSync(temporary, file);
    if (durable) syncDirectorySync(dirname(file));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw naming(file, error);
  }
}

/** An error of the system names the temporary file, or none. */
function naming(file: string, error: unknown): unknown {
  return error instanceof Error && 'syscall' in error ? Object.assign(error, { path: file }) : error;
}

/** Brings the names in a directory to the disk. */
export async function syncDirectory(directory: string): Promise<void> {
  await using handle = await open(directory);
  await handle.sync();
}

function syncDirectorySync(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
