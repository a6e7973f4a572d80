/** The command line without a process of its own, as tests run it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { COMMANDS } from '../../cli/commands/index.ts';
import { runCommandLine } from '../../cli/run.ts';

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'wispr-in-process-'));
  await writeFile(join(cwd, 'passphrase'), 'correct horse', { mode: 0o600 });
});
afterAll(() => rm(cwd, { recursive: true }));

async function run(...argv: string[]) {
  const output = { stdout: '', stderr: '' };
  const into = (name: 'stdout' | 'stderr') =>
    new Writable({
      write: (chunk, _, done) => {
        output[name] += chunk;
        done();
      },
    });
  const io = { argv, stdin: Readable.from([]), stdout: into('stdout'), stderr: into('stderr'), cwd };
  return { code: await runCommandLine(COMMANDS, io), ...output };
}

it('takes relative paths from the directory that it is given', async () => {
  expect(await run('inspect', 'passphrase')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('[object-unrecognised]'),
  });
  expect(await run('check')).toMatchObject({ code: 2, stderr: expect.stringContaining(basename(cwd)) });
});

it('keeps the outputs and exit codes of commands apart that run beside one another', async () => {
  const [help, wrong] = await Promise.all([run('--help'), run('check', '--no-such-option')]);
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: wispr'), stderr: '' });
  expect(wrong).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('unknown option') });
  expect(process.exitCode).toBeUndefined();
});
