/** What becomes of a command whose output is not read. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, startCommand } from '../support/programs.ts';
import { runWispr } from '../support/wispr.ts';
import { PASSPHRASE } from '../support/workspace.ts';

let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'wispr-output-'));
  await mkdir(join(root, 'site'));
  await writeFile(join(root, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  await writeFile(join(root, 'site/a.txt'), 'a');
  const made = await runWispr(['init', 'http://news.example', '--passphrase-file', 'passphrase'], { cwd: root });
  expect(made.code).toBe(0);
}, 30_000);
afterAll(() => rm(root, { recursive: true }));

/** Runs `wispr`, as a shell does, with its output elsewhere; the exit code goes to standard output. */
const inShell = (args: string, where: string) => {
  const wispr = `"${process.execPath}" "${ROOT}bin/wispr.js" ${args}`;
  return startCommand(['bash', '-c', where.replace('WISPR', wispr)], { cwd: root }).ended;
};
/** The reader of the pipe has gone before anything is written to it. */
const CLOSED_PIPE = '{ read -r -t 30 < gone; WISPR; echo "code $?" >&2; } | { exec 0<&-; echo > gone; }';

describe('a command whose output cannot be written', () => {
  it('does its work when the reader of a pipe has gone, and exits as if it were there', async () => {
    await startCommand(['mkfifo', 'gone'], { cwd: root }).ended;
    const { stderr } = await inShell('protect --json --passphrase-file passphrase', CLOSED_PIPE);
    expect(stderr).toMatch(/code 0\n$/);
    expect(stderr).not.toMatch(/EPIPE|^\s+at /m);
    expect(existsSync(join(root, 'protected/.well-known/wispr/timestamp.json'))).toBe(true);
    await writeFile(join(root, 'protected/extra.js'), 'x');
    expect((await inShell('verify protected -q', CLOSED_PIPE)).stderr).toBe('code 3\n');
  });

  it('goes on when its messages are not read', async () => {
    const { stderr } = await inShell(
      'check',
      '{ read -r -t 30 < gone; { WISPR >/dev/null 2>&3; echo "code $?" >&2; } 3>&1; } | { exec 0<&-; echo > gone; }',
    );
    expect(stderr).toMatch(/^code [03]\n$/);
  });

  it('says in one sentence that the disk is full, and fails', async () => {
    const { stderr } = await inShell('keys list --public', 'WISPR > /dev/full; echo "code $?" >&2');
    expect(stderr).toMatch(
      /^wispr: cannot write to standard output: [^\n]*ENOSPC[^\n]*\n(?:wispr: [^\n]*\n)*code 1\n$/,
    );
  });
});
