import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Everything below `directory` that is not a directory. Links are listed, and never followed (`readdir` with `recursive` does follow them). */
export async function listFiles(directory: string): Promise<Dirent[]> {
  const files: Dirent[] = [];
  const waiting = [directory];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const entry of await readdir(next, { withFileTypes: true })) {
      if (entry.isDirectory()) waiting.push(join(next, entry.name));
      else files.push(entry);
    }
  }
  return files;
}
