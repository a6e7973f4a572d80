/** `wispr publish`, `timestamp` and `withdraw` as people and machines run them, to directories and to a bucket. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publicationAt } from '../support/publishing.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';
import { startStallingServer } from '../support/stalling-s3.ts';
import { runOnTerminal, runWispr } from '../support/wispr.ts';
import { PASSPHRASE } from '../support/workspace.ts';

let root: string;
let site: string;
let server: S3Server;
let template: string;
const withPassphrase = ['--passphrase-file', 'passphrase'];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'wispr-publish-cli-'));
  site = join(root, 'workspace');
  await mkdir(join(site, 'site'), { recursive: true });
  await writeFile(join(site, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  await writeFile(join(site, 'site/index.html'), '<!doctype html><title>Front</title><p>News.');
  await writeFile(join(site, 'site/style.css'), 'p { color: red }');
  expect((await inSite('init', 'http://news.example', ...withPassphrase)).code).toBe(0);
  template = await readFile(join(site, 'wispr.json'), 'utf8');
  server = await startS3Server();
  await server.bucket('news');
}, 90_000);
afterAll(async () => {
  await server.stop();
  await rm(root, { recursive: true });
});

const inSite = (...args: string[]) =>
  runWispr(args, { cwd: site, env: { ...process.env, ...(server ? server.environment : {}) } });

/** Publishes to these from now on. */
const configure = (publish: string | readonly string[], change: (text: string) => string = (text) => text) =>
  writeFile(
    join(site, 'wispr.json'),
    change(template.replace('// "publish": "s3://news-example"', `"publish": ${JSON.stringify(publish)}`)),
  );

describe('wispr publish', () => {
  it('--dry-run says what --rekey would do, and neither goes with --no-protect', async () => {
    const { code, stdout } = await inSite('publish', '../web', '--dry-run', '--rekey', 'subscribers');
    expect([code, stdout]).toEqual([0, expect.stringContaining('nothing was written')]);
    expect((await inSite('publish', '../web', '--dry-run', '--watch')).code).toBe(2);
    for (const option of [['--dry-run'], ['--rekey', 'subscribers'], ['--watch']])
      expect((await inSite('publish', '../web', '--no-protect', ...option)).code).toBe(2);
  });

  it('asks before it makes a directory that is not there', async () => {
    const misspelt = await inSite('publish', '../webb', ...withPassphrase);
    expect(misspelt).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/no directory .*--yes/) });
    const answered = await runOnTerminal(
      ['publish', '../webb', '--no-protect'],
      [['make it, and publish there?', 'n\r']],
      { cwd: site },
    );
    expect([answered.code, existsSync(join(root, 'webb'))]).toEqual([2, false]);
  });

  it('publishes once to a directory that wispr.json does not name, and says so', async () => {
    const { code, stdout, stderr } = await inSite('publish', '../web', '--yes', ...withPassphrase);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/\nPublished: publication 1 at .*web \(.*\n {2}sent \d+ files/),
    ]);
    expect(stdout).toMatch(/\n {2}must be confirmed by \d{4}-.* UTC \(.*\)\n {2}its signatures end on .*\n$/);
    expect(stderr).toMatch(/web is not in wispr\.json: nothing keeps it current from now on\n/);
    expect(stderr).toMatch(/without a token, the key server hears of it only from a target/);
    expect((await inSite('verify', '../web')).code).toBe(0);
  });

  it('publishes to the bucket that wispr.json names, with types and lifetimes', async () => {
    await configure('s3://news/today');
    const { code, stdout, stderr } = await inSite('publish', '--json', '--quiet', ...withPassphrase);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^(wispr: (no key bundle|hint: copy it).*\n)*$/)]);
    expect(JSON.parse(stdout)).toMatchObject({
      targets: [{ target: 's3://news/today', unchanged: 0 }],
      behind: [],
      protection: { documents: 2 },
    });
    const again = await inSite('publish', '--no-protect', '--json', '-q', ...withPassphrase);
    expect(JSON.parse(again.stdout)).toMatchObject({ targets: [{ files: 0, bytes: 0 }] });
    expect(JSON.parse(again.stdout)).not.toHaveProperty('protection');
    const at = (name: string) =>
      server.client.send(new HeadObjectCommand({ Bucket: 'news', Key: `today/.well-known/wispr/${name}` }));
    expect(await at('timestamp.json')).toMatchObject({
      ContentType: 'application/json',
      CacheControl: 'public, no-transform, max-age=60',
    });
    expect((await at('1.root.json')).CacheControl).toBe('public, no-transform, max-age=31536000, immutable');
  });

  it('is verified in its bucket, with all that lies there', async () => {
    const { code, stdout, stderr } = await inSite('verify', 's3://news/today/');
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('2 encrypted documents and 0 public documents passed');
    const put = (Key: string) => server.client.send(new PutObjectCommand({ Bucket: 'news', Key, Body: 'x' }));
    await put('beside.js');
    await put('today/evil.js');
    await put('today/index.html');
    const bad = await inSite('verify', 's3://news/today', '-q');
    expect([
      bad.code,
      bad.stdout
        .replace(/: [^:]*$/gm, '')
        .trim()
        .split('\n')
        .sort(),
    ]).toEqual([3, ['corrupted: /index.html: file-altered', 'extra: /evil.js: file-unsigned']]);
    await server.client.send(new DeleteObjectCommand({ Bucket: 'news', Key: 'today/evil.js' }));
    expect((await inSite('publish', '--no-protect', '-q', ...withPassphrase)).code).toBe(0);
    expect((await inSite('verify', 's3://news/today')).code).toBe(0);
    expect(await inSite('verify', 's3://news/elsewhere')).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('metadata-missing'),
    });
    expect((await inSite('verify', 's3://absent/today')).stderr).toContain('[target-unreachable]');
    expect((await inSite('verify', 's3://news/today', '/index.html')).code).toBe(2);
  });

  it('exits with 2 for what was typed wrongly, with 1 for what went wrong', async () => {
    expect(await inSite('publish', 'http://web.example/')).toMatchObject({ code: 2, stdout: '' });
    expect((await inSite('publish', 's3://absent/x', ...withPassphrase)).stderr).toContain('[target-unreachable]');
    expect((await inSite('publish', '.')).stderr).toContain('[configuration-invalid]');
    await writeFile(join(site, 'token'), 'not a token, but a secret', { mode: 0o600 });
    const { code, stderr } = await inSite('publish', '../web', '--token-file', 'token');
    expect([code, stderr]).toEqual([1, expect.stringContaining('[token-refused]')]);
    expect(stderr).not.toContain('secret');
    await chmod(join(site, 'token'), 0o640);
    expect((await inSite('publish', '../web', '--token-file', 'token')).stderr).toMatch(/other users .*chmod 600/);
  });

  it('publishes while the key server is away, says so, and ends with 1', async () => {
    await writeFile(join(site, 'good-token'), 'token-0123456789-abcdefgh', { mode: 0o600 });
    await configure('../web', (text) => text.replace('https://keys.news.example', 'http://127.0.0.1:9'));
    await writeFile(join(site, 'site/style.css'), 'p { color: blue }');
    const args = ['-q', '--json', '--token-file', 'good-token', ...withPassphrase];
    const { code, stdout, stderr } = await inSite('publish', ...args);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/the key server did not answer: .*\nwispr: hint: run the same command again/),
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ keyServer: 'does not answer', behind: [] });
  });

  it('gives the documents of a set a new key, once', async () => {
    await configure('../web');
    const { code, stdout, stderr } = await inSite('publish', '--rekey', 'subscribers', ...withPassphrase);
    expect([code, stderr]).toEqual([0, expect.stringContaining('new key for subscribers')]);
    expect(stderr).toContain('leave --rekey out if the command has to be repeated');
    expect(stdout.match(/must be confirmed by/g)).toHaveLength(1);
  });
});

describe('wispr withdraw', () => {
  const at = (name: string) => publicationAt(join(root, name));

  it('says first what readers see then, and that rollback answers a mistake; without a yes it does nothing', async () => {
    await configure(['../web', '../second']);
    expect((await inSite('publish', '-y', '-q', ...withPassphrase)).code).toBe(0);
    const before = await at('web');
    const refused = await inSite('withdraw', ...withPassphrase);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/shown nothing of news\.example[\s\S]*"wispr rollback"[\s\S]*--yes/),
    });
    const answered = await runOnTerminal(['withdraw', ...withPassphrase], [['withdraw?', 'n\r']], { cwd: site });
    expect([answered.code, answered.shown]).toEqual([2, expect.stringContaining('nothing was changed')]);
    expect(await at('web')).toBe(before);
  });

  it('withdraws everywhere, run twice signs nothing anew, and publishing ends it', async () => {
    const before = await at('web');
    const { code, stdout, stderr } = await inSite('withdraw', String(before), '-y', ...withPassphrase);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^The site is withdrawn: publication \d+ .*web, .*second/),
    ]);
    expect(stderr).toContain('hint: correct the source, then "wispr publish"');
    expect([await at('web'), await at('second')]).toEqual([before + 1, before + 1]);
    const again = await inSite('withdraw', '-y', '--json', ...withPassphrase);
    expect(JSON.parse(again.stdout)).toMatchObject({ outcome: 'already withdrawn', publication: before + 1 });
    expect((await inSite('timestamp', ...withPassphrase)).stderr).toMatch(/is a withdrawal: readers are shown nothing/);
    expect((await inSite('verify', '../web')).stdout).toContain('publication-withdrawn');
    expect((await inSite('publish', ...withPassphrase)).stderr).toContain('this ends the withdrawal');
    expect(await at('web')).toBe(before + 2);
    const replaced = await inSite('withdraw', String(before), '-y', ...withPassphrase);
    expect(replaced).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing to withdraw') });
    expect((await inSite('withdraw', '99', '-y', ...withPassphrase)).stderr).toContain('[argument-invalid]');
  });

  it('names a target of an earlier run that wispr.json does not name', async () => {
    await configure('../web');
    expect((await inSite('publish', '-q', '-y', '../elsewhere', ...withPassphrase)).code).toBe(0);
    expect((await inSite('publish', '-q', ...withPassphrase)).stderr).not.toContain('not reached');
    const withdrawn = await inSite('withdraw', '-y', ...withPassphrase);
    expect(withdrawn.stderr).toMatch(/not reached, because .*elsewhere\n/);
    await configure(['../web', '../elsewhere']);
    expect((await inSite('withdraw', '-y', ...withPassphrase)).stderr).not.toContain('elsewhere');
    expect(await at('elsewhere')).toBe(await at('web'));
  });

  it('goes on where the key server is dead and a bucket hangs, and names both', async () => {
    const stalling = await startStallingServer(server.endpoint);
    await configure(['../web', 's3://news/hanging'], (text) =>
      text.replace('https://keys.news.example', 'http://127.0.0.1:9'),
    );
    const env = { ...process.env, ...server.environment, AWS_ENDPOINT_URL_S3: stalling.endpoint };
    const run = (...args: string[]) => runWispr(args, { cwd: site, env });
    expect((await run('publish', '-q', ...withPassphrase)).code).toBe(0);
    const before = await at('web');
    stalling.stalls = () => true;
    const began = performance.now();
    const { code, stdout, stderr } = await run('withdraw', '-y', '--token-file', 'good-token', ...withPassphrase);
    expect(performance.now() - began).toBeLessThan(25_000);
    expect([code, stdout]).toEqual([1, expect.stringContaining(`publication ${before + 1} shows readers nothing`)]);
    expect(stderr).toMatch(/left behind: s3:\/\/news\/hanging .*\[target-unreachable\]/);
    expect(stderr).toMatch(/the key server did not answer/);
    expect(await at('web')).toBe(before + 1);
    stalling.stalls = () => false;
    expect((await run('withdraw', '-y', ...withPassphrase)).code).toBe(0);
    await stalling.close();
  }, 60_000);
});

describe('wispr timestamp', () => {
  it('confirms with an exported key alone, and never an older publication: attack 28', async () => {
    await configure('../web');
    expect((await inSite('publish', '-q', '-y', ...withPassphrase)).code).toBe(0);
    const exported = ['keys', 'export', 'timestamp', '../cron.key', ...withPassphrase];
    expect((await inSite(...exported, '--new-passphrase-file', 'passphrase')).code).toBe(0);
    const metadata = join(root, 'web/.well-known/wispr');
    const confirm = () => inSite('timestamp', '--key', '../cron.key', '--metadata', metadata, ...withPassphrase);
    const old = await readFile(join(metadata, 'timestamp.json'));
    expect(await confirm()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Publication \d+ is confirmed/) });
    await writeFile(join(site, 'site/style.css'), 'p { color: green }');
    expect((await inSite('publish', '-q', ...withPassphrase)).code).toBe(0);
    expect((await confirm()).code).toBe(0);
    await writeFile(join(metadata, 'timestamp.json'), old);
    expect(await confirm()).toMatchObject({ code: 1, stderr: expect.stringContaining('[publication-older]') });
    expect((await inSite('timestamp', '--key', '../cron.key', ...withPassphrase)).code).toBe(2);
  });
});
