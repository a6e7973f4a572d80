/** Removes files that no publication needs any more, once nobody can hold one that does. */
import { readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PublisherIndex } from '../index/publisher-index.ts';
import type { RetiredFile } from '../index/rows.ts';
import { toOutput } from './to-output.ts';

/**
 * @param before - seconds since 1970: what publications have done without since then goes
 * @returns how many files were removed
 */
export async function pruneOutput(out: string, index: PublisherIndex, before: number): Promise<number> {
  let removed = 0;
  for (let batch = index.removable(before); batch.length > 0; batch = index.removable(before)) {
    for (const { file } of batch) await toOutput(join(out, file), rm(join(out, file), { force: true }));
    index.transaction(() => {
      for (const { file } of batch) index.unretire(file);
    });
    await removeEmptyDirectories(out, batch);
    removed += batch.length;
  }
  return removed;
}

async function removeEmptyDirectories(out: string, files: readonly RetiredFile[]): Promise<void> {
  for (const first of new Set(files.map(({ file }) => dirname(file)))) {
    for (let directory = first; directory !== '/'; directory = dirname(directory)) {
      const left = await readdir(join(out, directory)).catch(() => ['?']);
      if (left.length > 0) break;
      await rmdir(join(out, directory)).catch(() => undefined);
    }
  }
}

/** Removes what an interrupted run had begun, and nothing refers to. */
export async function removeUnfinished(out: string, files: readonly string[]): Promise<void> {
  for (const file of files) await toOutput(join(out, file), rm(join(out, file), { force: true }));
}
