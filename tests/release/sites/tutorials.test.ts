/** The tutorials without a key server, as they stand in README.md and docs/serverless.md: in a clone where nothing but `npm ci` ran, read in Chromium. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../cache-config/child.ts';
import { launchChromium } from '../../support/chromium.ts';
import { ROOT, type RunningProgram, startCommand } from '../../support/programs.ts';

const folder = mkdtempSync(join(tmpdir(), 'wispr-tutorials-'));
const clone = join(folder, 'clone');
const running: RunningProgram[] = [];
let browser: Browser;

/** The programs of this machine: none of this clone's. */
const PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((place) => !place.includes('node_modules'))
  .join(delimiter);

beforeAll(async () => {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  for (const file of files.toString().split('\0').filter(Boolean)) cpSync(join(ROOT, file), join(clone, file));
  execFileSync('npm', ['ci', '--prefer-offline', '--loglevel=error'], { cwd: clone, env: { ...process.env, PATH } });
  writeFileSync(join(folder, 'passphrase'), 'six words that are hard to guess\n', { mode: 0o600 });
  browser = await launchChromium();
}, 300_000);
afterAll(async () => {
  await browser?.close();
  for (const program of running) await program.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The block of a page that has such a command, which is typed but for the passphrase; its last command stays. */
function type(page: string, command: string, port: number): RunningProgram {
  const blocks = Array.from(
    readFileSync(join(ROOT, page), 'utf8').matchAll(/^```sh\n(.*?)^```/gms),
    ([, block]) => block,
  );
  const block = blocks.find((text) => text?.includes(command)) ?? '';
  const directory = join(folder, page.replace(/\W/g, '-'));
  mkdirSync(directory);
  if (!block.includes('mkdir site')) {
    mkdirSync(join(directory, 'site'));
    writeFileSync(join(directory, 'site/index.html'), '<!doctype html><title>Hello</title><h1>Hello, friends</h1>');
  }
  const person = `
wispr() {
  case $1 in
    check) "$CLONE/bin/wispr.js" "$@" ;;
    *) "$CLONE/bin/wispr.js" "$@" --passphrase-file "$CLONE/../passphrase" ;;
  esac
}
python3() { exec python3 "$@"; }
exec 2>&1
`;
  const typed = person + block.replaceAll('8000', `${port}`);
  const program = startCommand(['bash', '-euo', 'pipefail', '-c', typed], {
    cwd: directory,
    env: { PATH, HOME: folder, CLONE: clone, PYTHONUNBUFFERED: '1' },
  });
  running.push(program);
  return program;
}

describe.each(['README.md', 'docs/serverless.md'])('%s, after npm ci', (page) => {
  it('leads from nothing to a page that an invitation opens', async () => {
    const port = await freePort();
    const program = type(page, 'wispr init', port);
    await program.line(/^Serving HTTP/);
    const link = /http:\S+#i=\S+/.exec(program.stdout())?.[0] ?? '';
    const visitor = await browser.newPage();
    await visitor.goto(`http://localhost:${port}/`);
    expect(await visitor.textContent('body')).not.toContain('friends');
    await visitor.goto(link);
    await visitor.waitForSelector('h1:text("Hello, friends")');
    await visitor.close();
  });
});

it('README.md shows what the commands print', () => {
  const shown = Array.from(
    readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/^#> (.*)$/gm),
    ([, line = '']) => line,
  );
  expect(shown.length).toBeGreaterThan(3);
  const plain = (text: string) => text.replace(/localhost:\d+/g, 'localhost').replace(/#i=[\w-]{22}\b/g, '#i=');
  const printed = plain(running[0]?.stdout() ?? '');
  expect(shown.filter((line) => !printed.includes(plain(line)))).toEqual([]);
});
