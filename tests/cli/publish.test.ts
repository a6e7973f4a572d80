/** `wispr publish` as people and machines run it, to a directory and to a bucket. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { startContentHost } from '../support/content-host.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';
import { runOnTerminal, runWispr } from '../support/wispr.ts';
import { PASSPHRASE } from '../support/workspace.ts';

let root: string;
let site: string;
let server: S3Server;
const withPassphrase = ['--passphrase-file', 'passphrase'];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'wispr-publish-cli-'));
  site = join(root, 'workspace');
  await mkdir(join(site, 'site'), { recursive: true });
  await writeFile(join(site, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  await writeFile(join(site, 'site/index.html'), '<!doctype html><title>Front</title><p>News.');
  await writeFile(join(site, 'site/style.css'), 'p { color: red }');
  expect((await inSite('init', 'http://news.example', ...withPassphrase)).code).toBe(0);
  server = await startS3Server();
  await server.bucket('news');
}, 90_000);
afterAll(async () => {
  await server.stop();
  await rm(root, { recursive: true });
});

const inSite = (...args: string[]) =>
  runWispr(args, { cwd: site, env: { ...process.env, ...(server ? server.environment : {}) } });

describe('wispr publish', () => {
  it('--dry-run says what --rekey would do, and neither goes with --no-protect', async () => {
    const { code, stdout } = await inSite('publish', '../web', '--dry-run', '--rekey', 'subscribers');
    expect([code, stdout]).toEqual([0, expect.stringContaining('nothing was written')]);
    expect(await inSite('verify')).toMatchObject({ code: 2, stderr: expect.stringMatching(/hint: .*wispr protect/) });
    for (const option of [['--dry-run'], ['--rekey', 'subscribers']])
      expect((await inSite('publish', '../web', '--no-protect', ...option)).code).toBe(2);
  });

  it('asks before it makes a directory that is not there', async () => {
    const misspelt = await inSite('publish', '../webb', ...withPassphrase);
    expect(misspelt).toMatchObject({ code: 2, stdout: '' });
    expect(misspelt.stderr).toMatch(/^wispr: there is no directory .*\/webb\nwispr: hint: .*--yes/);
    const answered = await runOnTerminal(
      ['publish', '../webb', '--no-protect', '--keys-handed-over'],
      [['make it, and publish there?', 'n\r']],
      { cwd: site },
    );
    expect([answered.code, existsSync(join(root, 'webb'))]).toEqual([2, false]);
  });

  it('says what to do by hand where nobody told the key server, and goes on when that is done', async () => {
    const refused = await inSite('publish', '../web', '--yes', '-c', 'wispr.json', ...withPassphrase);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(
      /\[keys-not-handed-over\]\nwispr: hint: .*"wispr publish --keys-handed-over \.\.\/web -c wispr\.json"/,
    );
    const { code, stdout, stderr } = await inSite('publish', '../web', '-y', '--no-protect', '--keys-handed-over');
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^Published: .*web has publication 1 .*\n {2}sent \d+ files/),
    ]);
    expect(stdout).toMatch(
      /\n {2}must be confirmed by \d{4}-.* UTC \(.*\)\n {2}its signatures end on [\d-]{10}, the root's on [\d-]{10}\n$/,
    );
    expect(stderr).toContain('the key server was not told');
    for (const line of stdout.split('\n').slice(1)) expect(line.length).toBeLessThanOrEqual(80);
    expect((await inSite('verify', '../web')).code).toBe(0);
  });

  it('says where timestamps go from now on, where it was published elsewhere before', async () => {
    const { code, stderr } = await inSite('publish', 'protected', '--no-protect', '--keys-handed-over');
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/to no target, because .*\/protected .*; until now it took that to .*\/web\nwispr: hint: /),
    ]);
    const back = await inSite('publish', '../web', '--no-protect', '--keys-handed-over', '-q');
    expect(back).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('publishes to the bucket that wispr.json names, with types and lifetimes', async () => {
    const configuration = await readFile(join(site, 'wispr.json'), 'utf8');
    await writeFile(
      join(site, 'wispr.json'),
      configuration.replace('// "publish": "s3://news-example"', '"publish": "s3://news/today"'),
    );
    const { code, stdout, stderr } = await inSite(
      'publish',
      '--keys-handed-over',
      '--json',
      '--quiet',
      ...withPassphrase,
    );
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({
      target: 's3://news/today',
      unchanged: 0,
      keyServerTold: false,
      protection: { documents: 2, changes: { added: 0 } }, // protected before
    });
    const again = await inSite('publish', '--no-protect', '--json', '-q');
    expect(JSON.parse(again.stdout)).toMatchObject({ sent: { files: 0, bytes: 0 } });
    expect(JSON.parse(again.stdout)).not.toHaveProperty('protection');
    const at = (name: string) =>
      server.client.send(new HeadObjectCommand({ Bucket: 'news', Key: `today/.well-known/wispr/${name}` }));
    expect(await at('timestamp.json')).toMatchObject({
      ContentType: 'application/json',
      CacheControl: 'public, no-transform, max-age=60',
    });
    expect((await at('1.root.json')).CacheControl).toBe('public, no-transform, max-age=31536000, immutable');
  });

  it('exits with 2 for what was typed wrongly, with 1 for what went wrong', async () => {
    expect(await inSite('publish', 'http://web.example/', '--no-protect')).toMatchObject({ code: 2, stdout: '' });
    expect(await inSite('publish', '--no-protect', ...withPassphrase)).toMatchObject({ code: 2 });
    expect((await inSite('publish', 's3://absent/x', '--no-protect')).stderr).toContain('[target-unreachable]');
    expect((await inSite('publish', '.', '--no-protect')).stderr).toContain('[workspace-overlap]');
    await writeFile(join(site, 'token'), 'not a token, but a secret', { mode: 0o600 });
    const { code, stderr } = await inSite('publish', '../web', '--no-protect', '--token-file', 'token');
    expect([code, stderr]).toEqual([1, expect.stringContaining('[token-unreadable]')]);
    expect(stderr).not.toContain('secret');
    await chmod(join(site, 'token'), 0o640);
    const open = await inSite('publish', '../web', '--no-protect', '--token-file', 'token');
    expect([open.code, open.stderr]).toEqual([
      1,
      expect.stringMatching(/others? .*\[token-unreadable\]\nwispr: hint: chmod 600/),
    ]);
  });

  it('publishes while the key server is away, says so, and ends with 1', async () => {
    await writeFile(join(site, 'good-token'), 'token-0123456789-abcdefgh', { mode: 0o600 });
    const file = join(site, 'wispr.json');
    const configuration = await readFile(file, 'utf8');
    await writeFile(file, configuration.replace('https://keys.news.example', 'http://127.0.0.1:9'));
    const { code, stdout, stderr } = await inSite(
      'publish',
      '../web',
      '--no-protect',
      '-q',
      '--json',
      '--token-file',
      'good-token',
    );
    await writeFile(file, configuration);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^wispr: published, but .*does not answer.*\n.* "wispr publish \.\.\/web" again/),
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ keyServerTold: false, keyServerFailure: expect.any(String) });
  });

  it('signs nothing with a clock that is ahead of the key server', async () => {
    const keyServer = await startContentHost();
    const date = new Date(Date.now() - 3_600_000).toUTCString();
    keyServer.handlers.set(METADATA_PATH + TIMESTAMP_FILE, (_, response) => response.writeHead(404, { date }).end());
    const file = join(site, 'wispr.json');
    const configuration = await readFile(file, 'utf8');
    await writeFile(file, configuration.replace(/("keyServer": ")[^"]*/, `$1${keyServer.origin}`));
    const before = await readFile(join(site, 'protected', METADATA_PATH, TIMESTAMP_FILE));
    const refused = await inSite('publish', '../web', '--token-file', 'good-token', ...withPassphrase);
    await writeFile(file, configuration);
    await keyServer.close();
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/ clock says .*\[clock-ahead\]\n.*hint: set/),
    });
    expect(await readFile(join(site, 'protected', METADATA_PATH, TIMESTAMP_FILE))).toEqual(before);
  });

  it('does not say to make new keys once more, where the key server was not given them', async () => {
    const args = ['../web', ...withPassphrase];
    const failed = await inSite('publish', ...args, '--rekey', 'subscribers');
    expect([failed.code, failed.stderr]).toEqual([
      1,
      expect.stringMatching(/\[keys-not-handed-over\]\n.*; leave --rekey out then: the new keys are made already\n/),
    ]);
    const again = await inSite('publish', ...args, '--keys-handed-over');
    expect(again.stderr).not.toContain('new key for');
    expect(again.stdout).toMatch(/2 unchanged/);
  });

  it('gives the documents of a set a new key, and does not say to do what it does itself', async () => {
    const args = ['../web', '--keys-handed-over', '--rekey', 'subscribers', ...withPassphrase];
    const { code, stdout, stderr } = await inSite('publish', ...args);
    expect([code, stderr]).toEqual([0, expect.stringContaining('new key for subscribers')]);
    expect(stdout).not.toMatch(/on your web host/);
    expect(stdout.match(/must be confirmed by/g)).toHaveLength(1);
    expect(stdout.match(/signatures end on/g)).toHaveLength(1);
  });

  it('is what the next publication needs too, where a key server was told: protecting says so', async () => {
    const protecting = () => inSite('protect', ...withPassphrase);
    const unchanged = await protecting();
    expect([unchanged.code, unchanged.stderr]).toEqual([0, expect.not.stringContaining('"wispr publish"')]);
    await writeFile(join(site, 'site/style.css'), 'p { color: blue }');
    await chmod(join(site, 'publisher.keys'), 0o640);
    const { code, stderr } = await protecting();
    await chmod(join(site, 'publisher.keys'), 0o600);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        /: publication \d+ was published by "wispr publish": .* until "wispr publish \S+\/web", with /,
      ),
    ]);
    expect(stderr).toMatch(/publisher\.keys can be read by other users of this machine/);
    const listed = await inSite('keys', 'list', '--public');
    expect(listed.stdout).toMatch(/publication \d+ in "out"; readers have publication \d+, at \S+\/web\n/);
    expect((await inSite('publish', '../web', '--no-protect', '--keys-handed-over')).code).toBe(0);
  });

  it('warns of a withdrawn publication, also with --no-protect and -q', async () => {
    const [, version = ''] =
      /has publication (\d+)/.exec((await inSite('publish', '../web', '--no-protect')).stdout) ?? [];
    const configuration = await readFile(join(site, 'wispr.json'), 'utf8');
    await writeFile(join(site, 'wispr.json'), configuration.replace(/"publish": ".*?"/, '"publish": "../web"'));
    expect((await inSite('withdraw', version, '--yes', ...withPassphrase)).code).toBe(0);
    const { code, stdout, stderr } = await inSite('publish', '--no-protect', '-q');
    expect([code, stdout, stderr]).toEqual([0, '', expect.stringContaining(`publication ${version} is WITHDRAWN`)]);
  });
});
