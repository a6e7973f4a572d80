import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeDirectory, makeDirectoryNow } from '../../node-support/make-directory.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let directory: string;
beforeEach(() => {
  directory = temporaryFolder();
});

describe.each([
  ['makeDirectory', makeDirectory],
  ['makeDirectoryNow', async (path: string, mode?: number) => makeDirectoryNow(path, mode)],
])('%s', (_, make) => {
  it('makes all that are missing, with one mode, and leaves those that are there', async () => {
    const deep = join(directory, 'a', 'b');
    await make(deep, 0o700);
    for (const path of [deep, join(directory, 'a')]) expect((await stat(path)).mode & 0o777).toBe(0o700);
    await make(deep, 0o755);
    expect((await stat(deep)).mode & 0o777).toBe(0o700);
  });

  it('ends where none can be made', async () => {
    await writeFile(join(directory, 'file'), '');
    await expect(make(join(directory, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(make(join(directory, 'file', 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' });
    // A mkdir in /proc answers ENOENT although /proc is there; Node.js's own goes on for ever.
    if (process.platform === 'linux') await expect(make('/proc/nothing/a')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
