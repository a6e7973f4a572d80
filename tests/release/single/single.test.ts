/** The single file for readers: made as `npm run build:single` makes it, and run where there is no Node.js. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { send } from '../../support/http-client.ts';
import { type Ended, type RunningProgram, startCommand } from '../../support/programs.ts';
import { type ReaderHome, startReaderHome } from '../../support/reader-home.ts';
import { CleanUp, temporaryFolder } from '../../support/reader-rig.ts';
import { IS_RELEASE } from '../../support/tier.ts';

/** Opened on a thread, whose program is in the file as well. */
const LARGE = randomBytes(3_000_000);

const cleanUp = new CleanUp();
let folder: string;
let file: string;
let reader: ReaderHome;
beforeAll(async () => {
  folder = await temporaryFolder(cleanUp);
  build(folder);
  file = join(folder, `wispr-${packageJson.version}-${process.platform}-${process.arch}`);
  reader = await startReaderHome(cleanUp);
  await reader.publisher.publish(reader.host.files, '/a.html', { content: 'read at last' });
  await reader.publisher.publish(reader.host.files, '/large.bin', { content: LARGE });
}, 240_000);
afterAll(() => cleanUp.run());

/** @returns what it printed: checksum and name, as sha256sum reads them */
function build(out: string): string {
  return execFileSync(process.execPath, ['scripts/build-single.mjs', out], { encoding: 'utf8', stdio: 'pipe' });
}

/** Nothing but the file: an empty home, and no program to be found. */
function start(...args: string[]): RunningProgram {
  const { home } = reader;
  const options = { cwd: home, env: { HOME: home, XDG_RUNTIME_DIR: join(home, 'run'), PATH: '' } };
  return startCommand([file, ...args], options);
}

const run = (...args: string[]): Promise<Ended> => start(...args).ended;

describe('the single file', () => {
  it('comes with its checksum', () => {
    expect(readFileSync(`${file}.sha256`, 'utf8')).toMatch(
      new RegExp(`^[0-9a-f]{64} {2}wispr-${packageJson.version}-[a-z0-9-]+\n$`),
    );
    execFileSync('sha256sum', ['--check', `${file}.sha256`], { cwd: folder, stdio: 'pipe' });
  });

  it('has a bill of materials with the hash of its Node.js and of its packages', () => {
    const { bomFormat, components } = JSON.parse(readFileSync(`${file}.cdx.json`, 'utf8'));
    const hashOf = (wanted: string) => components.find(({ name }: { name: string }) => name === wanted)?.hashes[0].alg;
    expect(bomFormat).toBe('CycloneDX');
    expect(hashOf(`node-${process.platform}-${process.arch}`)).toBe('SHA-512');
    expect(hashOf('libsodium-wrappers')).toBe('SHA-512');
    expect(hashOf('vitest')).toBeUndefined();
  });

  if (IS_RELEASE)
    it('is the same when it is made again', { timeout: 240_000 }, () => {
      copyFileSync(file, `${file}.first`);
      expect(build(folder)).toBe(readFileSync(`${file}.sha256`, 'utf8'));
      expect(readFileSync(file).equals(readFileSync(`${file}.first`))).toBe(true);
    });

  it('says what it is, what it carries and under which licences', async () => {
    expect(await run('--version')).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' });
    const { stdout } = await run('--help');
    for (const command of ['proxy', 'bind', 'fetch']) expect(stdout).toMatch(new RegExp(`^ {2}${command} `, 'm'));
    expect(stdout).toContain('This file is for readers');
    const licenses = (await run('licenses')).stdout;
    for (const name of ['wispr', 'Node.js', 'libsodium', 'undici', 'commander'])
      expect(licenses).toMatch(new RegExp(`^${name} \\d`, 'm'));
    expect(licenses).not.toContain('no text in the package');
    const unknown = await run('protect');
    expect([unknown.code, unknown.stdout]).toEqual([2, '']);
  });

  it('connects, fetches, and serves a browser', async () => {
    const link = await reader.keyServer.invite();
    const bound = await run('bind', link, '--yes', '--trust-site', reader.publisher.site, ...reader.connectTo);
    expect([bound.code, bound.stderr]).toEqual([0, expect.stringContaining('connected: news.example')]);
    const fetched = await run('fetch', 'https://news.example/a.html', ...reader.connectTo);
    expect(fetched).toEqual({ code: 0, stdout: 'read at last', stderr: '' });
    const proxy = start('proxy', '--port', '0', '--json', ...reader.connectTo);
    cleanUp.add(() => proxy.stop('SIGKILL'));
    const ready = JSON.parse(await proxy.line(/^\{/)) as { proxy: string; sites: { gateway: string }[] };
    const { port } = new URL(ready.proxy);
    expect((await send(Number(port), 'http://news.example/a.html')).text).toBe('read at last');
    for (const _from of ['its host', 'what was kept'])
      expect((await send(Number(port), 'http://news.example/large.bin')).body.equals(LARGE)).toBe(true);
    const { host } = new URL(ready.sites[0]?.gateway ?? '');
    expect((await send(Number(port), '/a.html', { headers: { host } })).text).toBe('read at last');
    expect((await send(Number(port), '/', { headers: { host: `localhost:${port}` } })).text).toContain('news.example');
    const [roaming, words] = [join(reader.home, 'mine.roaming'), join(reader.home, 'words')];
    expect((await run('identity', 'export', roaming, '--words-file', words)).code).toBe(0);
    expect(readFileSync(words, 'utf8')).toMatch(/^(?:[a-z-]+ ){6}[a-z-]+\n$/);
    expect((await proxy.stop('SIGTERM')).code).toBe(0);
    const { code, stderr } = await run('identity', 'protect', 'keyring');
    expect([code, stderr]).toEqual([1, expect.stringContaining('[keyring-unavailable]')]);
    expect(stderr).toMatch(/single file .*\n.*hint: .*protect passphrase.* or .*protect key-file/);
    expect(readdirSync(reader.home).sort()).toEqual(expect.arrayContaining(['.config', '.local']));
  });
});
