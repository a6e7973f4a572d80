/** "On one machine" of docs/publish.md: its commands as they stand there, but for passphrase, code and ports. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accepts, freePort } from '../../../cache-config/child.ts';
import { ROOT, type RunningProgram, startCommand } from '../../support/programs.ts';
import { createReader, createVisitor } from '../../support/reading-site-visitor.ts';

const ARTICLE_PATH = '/2026/11/17/the%20great%20tide.html';
const original = readFileSync(join(ROOT, 'examples/newspaper/site', decodeURI(ARTICLE_PATH)), 'utf8');

const page = readFileSync(join(ROOT, 'docs/publish.md'), 'utf8');
const [, section = ''] = /^## On one machine$(.*?)^## /ms.exec(page) ?? [];
const [keyServer = '', publisher = '', reader = ''] = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(
  ([, commands = '']) => commands,
);

const folder = mkdtempSync(join(tmpdir(), 'wispr-one-machine-'));
const file = (name: string) => join(folder, name);
const running: RunningProgram[] = [];
const ports = new Map<string, number>();

/**
 * What a person does besides typing the commands: a passphrase, the code of the invitation, and ports that are free. The last command of
 * each terminal takes the place of the shell, so that it can be ended.
 */
const PERSON = `
run() { "$NODE" "$WISPR" "$@"; }
python3() { exec python3 "$@"; }
wispr() {
  case "$*" in
    init*|protect*) run "$@" --passphrase-file "$FOLDER/passphrase" ;;
    keyserver*) exec "$NODE" "$WISPR" "$@" ;;
    invite*) run "$@" > "$FOLDER/invitation" ;;
    bind*) run "$@" < "$FOLDER/invitation" ;;
    proxy*) exec "$NODE" "$WISPR" "$@" --port 0 --json ;;
    *) run "$@" ;;
  esac
}
`;

beforeAll(async () => {
  for (const port of ['8002', '8003', '8004', '8080']) ports.set(port, await freePort());
  for (const directory of ['news', 'home']) mkdirSync(file(directory));
  cpSync(join(ROOT, 'examples/newspaper/site'), file('news/site'), { recursive: true });
  writeFileSync(file('passphrase'), 'six words that are hard to guess\n', { mode: 0o600 });
});
afterAll(async () => {
  for (const program of running.reverse()) await program.stop();
  rmSync(folder, { recursive: true, force: true });
});

const portFor = (port: string) => ports.get(port) ?? 0;

/** Ports in place of those in keyserver.json. */
const portsOfKeyServer = () => ({
  WISPR_KEYSERVER_LISTEN__PORT: String(portFor('8002')),
  WISPR_KEYSERVER_READING__LISTEN__PORT: String(portFor('8003')),
  WISPR_KEYSERVER_READING__DOCUMENTS__LISTEN__PORT: String(portFor('8004')),
});

/** Types the commands of one terminal, of which the last one stays. */
function type(commands: string): RunningProgram {
  const typed = commands.replace(/\b(?:8002|8003|8080)\b/g, (port) => String(portFor(port)));
  const env = {
    PATH: process.env.PATH,
    HOME: file('home'),
    NODE: process.execPath,
    WISPR: join(ROOT, 'bin/wispr.js'),
    FOLDER: folder,
    ...portsOfKeyServer(),
  };
  const program = startCommand(['bash', '-euo', 'pipefail', '-c', PERSON + typed], { cwd: folder, env });
  running.push(program);
  return program;
}

/** Waits until the terminal's last command listens; if a command fails before, says so. */
async function listening(program: RunningProgram, port: string): Promise<void> {
  const failed = program.ended.then(({ code, stderr }) => Promise.reject(new Error(`ended with ${code}: ${stderr}`)));
  await Promise.race([expect.poll(() => accepts(portFor(port)), { timeout: 30_000 }).toBe(true), failed]);
}

describe('docs/publish.md, on one machine', () => {
  test('the key server starts', async () => {
    await listening(type(keyServer), '8002');
    expect(readFileSync(file('keys/keyserver.json'), 'utf8')).toMatch(/^ +"news\.example": "http:/m);
  });

  test('the site is protected, handed over and served', async () => {
    await listening(type(publisher), '8080');
    const teaser = await fetch(`http://127.0.0.1:${portFor('8080')}${ARTICLE_PATH}`);
    expect(await teaser.text()).toContain(`http://127.0.0.1:${portFor('8003')}${ARTICLE_PATH}`);
  });

  test('a reader reads it by proxy and gateway', async () => {
    const ready = JSON.parse(await type(reader).line(/^\{"/));
    const curl = ['curl', '--silent', '--show-error', '--noproxy', ''];
    const through = await startCommand([...curl, '-x', ready.proxy, `http://news.example${ARTICLE_PATH}`]).ended;
    expect(through).toEqual({ code: 0, stdout: original, stderr: '' });
    const [{ gateway }] = ready.sites;
    const { hostname, port } = new URL(gateway);
    const own = ['--resolve', `${hostname}:${port}:127.0.0.1`, new URL(ARTICLE_PATH, gateway).href];
    expect(await startCommand([...curl, ...own]).ended).toEqual({ code: 0, stdout: original, stderr: '' });
  });

  test('a browser reads it on the reading site', async () => {
    const invited = await startCommand([process.execPath, join(ROOT, 'bin/wispr.js'), 'invite', 'ben'], {
      cwd: file('keys'),
      env: { ...process.env, ...portsOfKeyServer() },
    }).ended;
    const { origin, pathname, hash } = new URL(invited.stdout.trim());
    const { headers } = await createVisitor(origin).get('/');
    const browser = createReader({ readingUrl: origin, documentsUrl: new URL(String(headers.location)).origin });
    await browser.post(pathname, { code: hash.slice(1) });
    expect(await browser.get(ARTICLE_PATH)).toMatchObject({ status: 200, text: original });
  });
});
