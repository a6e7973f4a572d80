/** Where a key server puts the timestamp besides answering readers itself: a directory. */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { KeyServerError } from '../errors.ts';

export interface PushTarget {
  /** As it stands in the configuration. */
  readonly name: string;
  /** The timestamp that lies there; `undefined` if there is none, or something that is too long for one. */
  read(maximumLength: number): Promise<Uint8Array | undefined>;
  /** Puts a timestamp in its place, whole or not at all. */
  write(bytes: Uint8Array): Promise<void>;
}

/** Milliseconds after which a half of a run that was killed is removed. */
const LEFTOVER_AGE = 600_000;
const LEFTOVER = `.${TIMESTAMP_FILE}.new-`;

/** @throws KeyServerError `target-invalid` */
export function openPushTarget(name: string): PushTarget {
  if (/^[a-z0-9]+:\/\//.test(name))
    throw new KeyServerError('target-invalid', `"${name}" in "publication.push" is no target that is known here`, {
      hint: 'a directory',
    });
  const file = join(name, METADATA_PATH, TIMESTAMP_FILE);
  return {
    name,
    read: (maximumLength) => readShort(file, maximumLength),
    write: async (bytes) => {
      await stat(name); // a site that is not there, a file system that is not mounted: not made here
      await mkdir(dirname(file), { recursive: true });
      await removeLeftovers(dirname(file));
      await replace(file, bytes);
    },
  };
}

async function readShort(file: string, maximumLength: number): Promise<Uint8Array | undefined> {
  const handle = await open(file).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (!handle) return undefined;
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(maximumLength + 1));
    return bytesRead > maximumLength ? undefined : buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

async function replace(file: string, bytes: Uint8Array): Promise<void> {
  const beside = join(dirname(file), LEFTOVER + randomBytes(4).toString('hex'));
  try {
    await writeFile(beside, bytes, { mode: 0o644, flag: 'wx', flush: true });
    await rename(beside, file);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}

async function removeLeftovers(directory: string): Promise<void> {
  for (const name of (await readdir(directory)).filter((entry) => entry.startsWith(LEFTOVER))) {
    const { mtimeMs } = await stat(join(directory, name));
    if (Date.now() - mtimeMs > LEFTOVER_AGE) await rm(join(directory, name), { force: true });
  }
}
