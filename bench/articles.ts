import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const PER_DIRECTORY = 100;

/** Text files in directories of a hundred: 10,000 of 8 KiB, if nothing else is said. */
export async function writeArticles(
  source: string,
  { count = 10_000, length = 8192, ending = 'txt' }: { count?: number; length?: number; ending?: string },
): Promise<void> {
  for (let directory = 0; directory < count / PER_DIRECTORY; directory++) {
    const path = join(source, `part-${directory}`);
    await mkdir(path, { recursive: true });
    for (let file = 0; file < PER_DIRECTORY; file++) {
      await writeFile(join(path, `article-${file}.${ending}`), text(length));
    }
  }
}

/** Text that compresses about as prose does. */
function text(length: number): string {
  const words = 'river council morning the of and harvest letter under bridge seven quiet'.split(' ');
  const bytes = randomBytes(length);
  let result = '';
  for (let index = 0; result.length < length; index++) result += `${words[(bytes[index] ?? 0) % words.length]} `;
  return result.slice(0, length);
}
