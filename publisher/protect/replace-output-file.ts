/** Writes small files of the output: beside their place, then into it in one step. */
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeDirectory } from '../../node-support/make-directory.ts';
import { toOutput } from './to-output.ts';
import { temporaryBeside } from './writers/files.ts';

/**
 * @param options - `sync`: waits for the disk, for the file that makes all others visible
 * @throws PublishError `output-failed`; what was there before is unchanged
 */
export async function replaceOutputFile(
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
  await makeDirectory(dirname(file));
  await using handle = await open(file, 'wx', 0o644);
  await handle.writeFile(bytes);
  if (sync) await handle.sync();
}
