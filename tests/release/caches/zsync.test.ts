/** zsync, which asks for several ranges of a document at once, and knows from a seed file which. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { forFile } from '../../support/for-file.ts';
import { startHostileReaderRig } from '../../support/reader-rig.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const run = promisify(execFile);
const rig = forFile(startHostileReaderRig);

it('zsync makes a new version out of an old one and the parts that differ, through the proxy', async () => {
  const cwd = temporaryFolder();
  const content = randomBytes(4_000_000);
  await rig.publisher.publish(rig.host.files, '/film.bin', { content });
  const seed = Buffer.from(content);
  for (const at of [10_000, 900_000, 1_500_000, 2_700_000, 3_900_000]) seed.fill(0, at, at + 5_000);
  await writeFile(join(cwd, 'film.bin'), content);
  await writeFile(join(cwd, 'seed'), seed);
  await run('zsyncmake', ['-u', rig.url('/film.bin'), '-o', 'film.zsync', 'film.bin'], { cwd });
  const env = { ...process.env, http_proxy: `http://127.0.0.1:${rig.proxy.port}` };
  const { stdout } = await run('zsync', ['-i', 'seed', '-o', 'made', 'film.zsync'], { cwd, env, timeout: 60_000 });
  expect(await readFile(join(cwd, 'made'))).toEqual(content);
  expect(Number(/fetched (\d+)/.exec(stdout)?.[1])).toBeLessThan(100_000);
});
