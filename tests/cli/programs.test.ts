/** The command line as a program of its own: pipes, signals, a terminal, and output that nobody reads. Everything else is in scripts. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, startCommand, startProgram } from '../support/programs.ts';
import { runOnPseudoTerminal, runWispr } from '../support/wispr.ts';
import { PASSPHRASE } from '../support/workspace.ts';

let root: string;
const inRoot = (...args: string[]) => runWispr([...args, '--passphrase-file', 'passphrase'], { cwd: root });

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'wispr-programs-'));
  await mkdir(join(root, 'site'));
  await writeFile(join(root, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  await writeFile(join(root, 'site/a.txt'), 'a');
  expect(await inRoot('init', 'http://news.example')).toMatchObject({ code: 0 });
});
afterAll(() => rm(root, { recursive: true }));

const isRunning = (pid: number) => existsSync(`/proc/${pid}/exe`);

/** Runs a script of a shell in which `wispr` is the program. */
const inShell = (script: string) => {
  const wispr = `wispr() { "${process.execPath}" "${ROOT}bin/wispr.js" "$@"; }`;
  return startCommand(['bash', '-c', `${wispr}\n${script}`], { cwd: root }).ended;
};
/** The reader of the pipe has gone before anything is written to it. */
const closedPipe = (command: string) =>
  `{ read -r -t 30 < gone; ${command}; echo "code $?" >&2; } | { exec 0<&-; echo > gone; }`;

describe('a command whose output cannot be written', () => {
  it('does its work when the reader of a pipe has gone, and exits as if it were there', async () => {
    await startCommand(['mkfifo', 'gone'], { cwd: root }).ended;
    const { stderr } = await inShell(closedPipe('wispr protect --json --passphrase-file passphrase'));
    expect(stderr).toMatch(/code 0\n$/);
    expect(stderr).not.toMatch(/EPIPE|^\s+at /m);
    expect(existsSync(join(root, 'protected/.well-known/wispr/timestamp.json'))).toBe(true);
    await writeFile(join(root, 'protected/extra.js'), 'x');
    expect((await inShell(closedPipe('wispr verify protected -q'))).stderr).toBe('code 3\n');
  });

  it('goes on when its messages are not read', async () => {
    const { stderr } = await inShell(
      '{ read -r -t 30 < gone; { wispr check >/dev/null 2>&3; echo "code $?" >&2; } 3>&1; } | { exec 0<&-; echo > gone; }',
    );
    expect(stderr).toMatch(/^code [03]\n$/);
  });

  it('says in one sentence that the disk is full, and fails', async () => {
    const { stderr } = await inShell('wispr keys list --public > /dev/full; echo "code $?" >&2');
    expect(stderr).toMatch(
      /^wispr: the disk is full: cannot write to standard output: [^\n]* \[disk-full\]\n(?:wispr: [^\n]*\n)*code 1\n$/,
    );
  });
});

it('a passphrase out of a pipe is read once, also for several keys', async () => {
  for (const key of ['one.key', 'other.key'])
    expect(await inRoot('keys', 'new-signer', key)).toMatchObject({ code: 0 });
  const { stderr } = await inShell(
    'cat passphrase | wispr protect -q --key one.key --key other.key --passphrase-file /dev/stdin --key-passphrase-file <(cat passphrase)',
  );
  expect(stderr).toContain('[signatures-missing]'); // the store and both keys were opened, and neither key may sign here
});

it('programs that stay, whose terminal goes away, go on or end, and always end by SIGTERM', async () => {
  const listen = { host: '127.0.0.1', port: 0 };
  await writeFile(
    join(root, 'keyserver.json'),
    JSON.stringify({
      listen,
      reading: { listen, documents: { listen } },
      data: 'k.db',
      masterKey: 'k.key',
      publicKey: 'k.pub',
    }),
  );
  const commands = [
    'keyserver --dev',
    'proxy --port 0 --data hung-up --key-file hung-up.key',
    'link near --far 127.0.0.1:9 --listen 127.0.0.1:0 --store hung-up.db',
    'protect --watch --out hung-up-out --passphrase-file passphrase',
  ];
  const ends = commands.map(async (line) => {
    const command = `echo $$; exec '${process.execPath}' '${ROOT}bin/wispr.js' ${line}`;
    const terminal = startCommand(['script', '--quiet', '--flush', '--command', command, '/dev/null'], { cwd: root });
    const pid = Number(await terminal.line(/^\d+/));
    const ready = await terminal.line(/"started"|ready|watching/);
    await terminal.stop('SIGKILL');
    const [, origin] = /"keyServer":"([^"]+)"/.exec(ready) ?? [];
    if (origin !== undefined) for (const _ of [1, 2]) expect((await fetch(`${origin}/healthz`)).status).toBe(200);
    if (isRunning(pid)) process.kill(pid, 'SIGTERM');
    await expect.poll(() => isRunning(pid)).toBe(false);
  });
  await Promise.all(ends);
});

it('a program that an older Node.js has started ends when that is killed', async () => {
  const script = `WISPR_PARENT=$$ "${process.execPath}" "${ROOT}bin/wispr.js" proxy --json --port 0 --data state --key-file reader.key & echo $!; wait`;
  const parent = startCommand(['bash', '-c', script], { cwd: root });
  const child = Number(await parent.line(/^\d+$/));
  await parent.line(/^\{/);
  process.kill(parent.pid, 'SIGKILL');
  await expect.poll(() => isRunning(child)).toBe(false);
});

it('a passphrase is edited on a terminal by the usual keys, and none of them becomes a part of it', async () => {
  const keys = {
    eraseLine: 'wrong\u0015',
    paste: '\u001b[200~pasted words\u001b[201~',
    eraseWord: ' junk\u0017',
    eraseCharacter: '😀\u007f',
    left: 'abc\u001b[Dx',
  };
  const answers = [
    ['a passphrase for the new keys: ', `${Object.values(keys).join('')}\r`],
    ['the same again: ', 'pasted words abxc\r'],
  ] as const;
  await mkdir(join(root, 'edited'));
  const { code, shown } = await runOnPseudoTerminal(['init', 'news.example'], answers, { cwd: join(root, 'edited') });
  expect([code, shown]).toEqual([0, expect.stringContaining('Made for news.example')]);
  expect(shown).not.toMatch(/pasted|abxc|junk/);
});

it('protecting leaves nothing half done when SIGTERM stops it', async () => {
  const directory = join(root, 'large');
  await mkdir(join(directory, 'site'), { recursive: true });
  const withPassphrase = ['--passphrase-file', '../passphrase'];
  expect(await runWispr(['init', 'news.example', ...withPassphrase], { cwd: directory })).toMatchObject({ code: 0 });
  await writeFile(join(directory, 'site/large.bin'), '');
  await truncate(join(directory, 'site/large.bin'), 2 ** 31);
  const running = startProgram('bin/wispr.js', ['protect', ...withPassphrase], { cwd: directory });
  const written = () => readdir(join(directory, 'protected')).catch(() => []);
  await expect.poll(async () => (await written()).join(), { interval: 10 }).toMatch(/wispr-new-/);
  expect(await running.stop('SIGTERM')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^wispr: stopped; .*\[stopped\]\n/),
  });
  expect(await written()).toEqual(['.well-known']);
  expect(await readdir(join(directory, 'protected/.well-known'))).toEqual(['wispr-site']);
});
