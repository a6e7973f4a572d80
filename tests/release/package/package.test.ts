/** The npm package: packed, installed into an empty folder by somebody with an empty home, and used without the clone. */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../cli/commands/index.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { connectAndRead, type Installed, installed, publishAndRead, startKeyServer } from '../../support/installed.ts';
import { startCommand } from '../../support/programs.ts';
import { CleanUp, temporaryFolder } from '../../support/reader-rig.ts';

const cleanUp = new CleanUp();
let folder: string;
let program: string;
beforeAll(async () => {
  folder = await temporaryFolder(cleanUp);
  const env = { ...process.env, HOME: folder, NODE_ENV: 'production' };
  const npm = (...args: string[]) => execFileSync('npm', [...args, '--loglevel=error'], { env, stdio: 'pipe' });
  npm('pack', '--pack-destination', folder);
  const [file = ''] = globSync('*.tgz', { cwd: folder });
  npm('install', '--prefix', folder, join(folder, file));
  program = join(folder, 'node_modules/.bin/wispr');
}, 300_000);
afterAll(() => cleanUp.run());

async function inEmptyHome(): Promise<Installed & { readonly home: string }> {
  const home = await temporaryFolder(cleanUp);
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
  return { home, ...installed([program], home, { PATH, NODE_ENV: 'production' }) };
}

describe('the npm package', () => {
  it('brings neither a Node.js nor optional packages, and weighs less than 60 MB', () => {
    const kept = globSync('node_modules/{node-*,@napi-rs,@aws-sdk,pg}', { cwd: folder });
    expect(kept).toEqual([]);
    const [size] = execFileSync('du', ['-sm', join(folder, 'node_modules')], { encoding: 'utf8' }).split('\t');
    expect(Number(size)).toBeLessThan(60);
  });

  it('starts every command', { timeout: 120_000 }, async () => {
    const { run } = await inEmptyHome();
    expect(await run('--version')).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' });
    for (const command of Object.keys(COMMANDS)) expect((await run(command, '--help')).code, command).toBe(0);
  });

  it('leads from nothing to a page that a browser shows', async () => {
    const wispr = await inEmptyHome();
    await publishAndRead(wispr, wispr.home, cleanUp);
  });

  it('is a key server', async () => {
    await startKeyServer(await inEmptyHome());
  });

  it('connects, fetches, and serves a browser', async () => {
    await connectAndRead(await inEmptyHome(), cleanUp);
  });

  it('shows the demonstration', { timeout: 120_000 }, async () => {
    const { run } = await inEmptyHome();
    const { code, stderr } = await run('demo', '--once');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it.each([
    ['buckets', ['verify', 's3://bucket/site'], '@aws-sdk/client-s3'],
    ['PostgreSQL', ['keyserver', '--dev', '--database', 'postgres://a@127.0.0.1:1/a'], 'pg'],
  ])('names the command that installs what %s need', async (_what, words, name) => {
    const { code, stderr } = await (await inEmptyHome()).run(...words);
    expect([code, stderr]).toEqual([1, expect.stringContaining('[package-missing]')]);
    expect(stderr).toMatch(new RegExp(`hint: .*npm install .*${name}`));
  });

  it('says in two lines what to install where Node.js is too old', async () => {
    const older = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })";
    const command = [process.execPath, '--import', `data:text/javascript,${older}`, program, '--version'];
    const { code, stdout, stderr } = await startCommand(command).ended;
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^wispr: needs Node\.js 24\.15 or newer, .*\nwispr: hint: install it from \S+\n$/);
  });
});
