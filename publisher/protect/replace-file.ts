/** Writes small files of the output: beside their place, then into it in one step. */
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCode } from '../../node-support/system-error.ts';
import { toOutput } from './to-output.ts';
import { temporaryBeside } from './writers/files.ts';

/**
 * @param options - `sync`: waits for the disk, for the file that makes all others visible
 * @throws PublishError `output-failed`; what was there before is unchanged
 */
export async function replaceFile(
  file: string,
  bytes: Uint8Array,
  { sync = false }: { readonly sync?: boolean } = {},
): Promise<void> {
  const beside = temporaryBeside(file);
  await toOutput(
    file,
    write(beside, bytes, sync).then(() => rename(beside, file)),
  ).catch(async (error: unknown) => {
    await rm(beside, { force: true }).catch(() => undefined);
    throw error;
  });
}

async function write(file: string, bytes: Uint8Array, sync: boolean): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await using handle = await open(file, 'wx', 0o644);
  await handle.writeFile(bytes);
  if (sync) await handle.sync();
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
