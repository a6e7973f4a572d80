import { chown, lchown, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Root can read and write everything; so where tests run as root, this is done as nobody. */
export async function asOrdinaryUser<Result>(directory: string, work: () => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() !== 0) return work();
  const nobody = 65_534;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    await lchown(path, nobody, nobody);
  }
  await chown(directory, nobody, nobody);
  process.seteuid?.(nobody);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}
