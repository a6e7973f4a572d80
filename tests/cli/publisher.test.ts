/** The publisher's commands, as child processes: what they print, where, and how they exit. */
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { randomBytes, xwingKeyPair } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { OWN_TEMPLATE_MARK } from '../../publisher/site/fallback/template.ts';
import { startContentHost } from '../support/content-host.ts';
import { expectError, expectOneVoice } from '../support/one-voice.ts';
import { ROOT, startCommand, startProgram } from '../support/programs.ts';
import { runOnTerminal, runWispr, runWisprProgram } from '../support/wispr.ts';
import { PASSPHRASE, snapshot } from '../support/workspace.ts';

const PAGE = '<!doctype html><title>A page</title><p>The secret rest.</p>';

const root = mkdtempSync(join(tmpdir(), 'wispr-cli-'));
const passphraseFile = join(root, 'passphrase');
const site = join(root, 'news');
const withPassphrase = ['--passphrase-file', passphraseFile];
const inSite = (...args: string[]) => runWispr(args, { cwd: site });

beforeAll(async () => {
  await writeFile(passphraseFile, `${PASSPHRASE}\n`, { mode: 0o600 });
  await writeSite(site);
  expect(await inSite('init', 'http://news.example', ...withPassphrase)).toMatchObject({ code: 0 });
});
afterAll(() => rmSync(root, { recursive: true }));

async function writeSite(directory: string): Promise<void> {
  await mkdir(join(directory, 'site'), { recursive: true });
  for (const [name, content] of Object.entries({ 'index.html': PAGE, 'robots.txt': 'x', 'a b.bin': 'y' }))
    await writeFile(join(directory, 'site', name), content);
}

describe('wispr init', () => {
  let empty: string;
  beforeEach(async () => {
    empty = join(root, 'empty');
    await rm(empty, { recursive: true, force: true });
    await mkdir(empty);
  });
  const init = (...args: string[]) => runWispr(['init', ...args], { cwd: empty });

  it('makes keys and configuration, and says which are secret and what comes next', async () => {
    const { code, stdout, stderr } = await init('https://www.news.example', ...withPassphrase);
    expect([code, stderr]).toEqual([0, '']);
    expect((await readdir(empty)).sort()).toEqual(['publisher.keys', 'root.keys', 'wispr.json']);
    for (const file of ['publisher.keys', 'root.keys'])
      expect((await stat(join(empty, file))).mode & 0o777).toBe(0o600);
    expect(stdout).toMatch(
      /publisher\.keys +SECRET[\s\S]*Keep it offline[\s\S]*copy[\s\S]*root\.keys +SECRET[\s\S]*fingerprint is [\w-]{43}[\s\S]*wispr protect/,
    );
    const configuration = await readFile(join(empty, 'wispr.json'), 'utf8');
    expect(configuration).toContain('"site": "www.news.example"');
    expect(configuration).toContain('"keyServer": "https://keys.news.example"');
    const [, schema = ''] = /"\$schema": "([^"]+)"/.exec(configuration) ?? [];
    expect(JSON.parse(await readFile(join(empty, schema), 'utf8'))).toMatchObject({ title: 'wispr.json' });
  });

  it('prints one JSON object where asked', async () => {
    const { stdout } = await init('news.example', ...withPassphrase, '--json');
    expect(JSON.parse(stdout)).toEqual({
      configuration: expect.stringContaining('wispr.json'),
      keys: expect.stringContaining('publisher.keys'),
      publisher: expect.stringMatching(/^[\w-]{43}$/),
      rootKeys: expect.stringContaining('root.keys'),
      site: 'news.example',
    });
  });

  it('asks for the passphrase twice on a terminal, and does not show it', async () => {
    const typed = `${PASSPHRASE}x\u007f\r`;
    const asked = [
      ['a passphrase for the new keys: ', typed],
      ['the same again: ', `${PASSPHRASE}\r`],
    ] as const;
    const { code, shown } = await runOnTerminal(['init', 'news.example'], asked, { cwd: empty });
    expect([code, shown]).toEqual([0, expect.stringContaining('SECRET')]);
    expect(shown).not.toContain('horse');
    const protect = [['passphrase: ', `${PASSPHRASE}\r`]] as const;
    await mkdir(join(empty, 'site'));
    await writeFile(join(empty, 'site/a.txt'), 'a');
    const protecting = await runOnTerminal(['protect'], protect, { cwd: empty });
    expect([protecting.code, protecting.shown]).toEqual([
      0,
      expect.stringContaining('Protected news.example: 1 document'),
    ]);
    expect(protecting.shown).not.toContain('horse');
  });

  it('makes nothing if the two differ, are too short, or are given up', async () => {
    const asking = (...typed: string[]) => {
      const questions = ['a passphrase for the new keys: ', 'the same again: '];
      const answers = typed.map((answer, index) => [questions[index] ?? '', answer] as const);
      return runOnTerminal(['init', 'news.example'], answers, { cwd: empty });
    };
    expect(await asking(`${PASSPHRASE}\r`, 'another one\r')).toMatchObject({
      code: 2,
      shown: expect.stringContaining('differ'),
    });
    const short = await asking('short\r');
    expect(short.shown).not.toContain('the same again');
    expect(short).toMatchObject({
      code: 2,
      shown: expect.stringContaining('fewer than 8'),
    });
    expect(await asking('\r')).toMatchObject({ code: 2, shown: expect.stringContaining('fewer than 8') });
    expect(await asking('half\u0003')).toMatchObject({ code: 2 });
    expect(await readdir(empty)).toEqual([]);
  });

  it('overwrites nothing', async () => {
    for (const file of ['wispr.json', 'publisher.keys', 'root.keys']) {
      await writeFile(join(empty, file), 'mine');
      await expectError(init('news.example', ...withPassphrase), 1, `${file} exists`, 'hint: ');
      expect(await readdir(empty)).toEqual([file]);
      expect(await readFile(join(empty, file), 'utf8')).toBe('mine');
      await rm(join(empty, file));
    }
  });

  it('does not put keys into a site', async () => {
    await writeFile(join(empty, 'index.html'), PAGE);
    await expectError(init('news.example', ...withPassphrase), 1, 'this directory is a site itself', 'hint: ');
    expect(await readdir(empty)).toEqual(['index.html']);
  });

  it.each([
    '',
    'http://',
    'http://127.0.0.1',
    'https://news.example/path',
    'javascript:alert(1)',
    'https://a b',
    'ftp://a.example',
    'https://u@a.example',
  ])('refuses %j as a site', async (url) => {
    await expectError(init(url, ...withPassphrase), 2, 'is not the URL of a site', 'hint: ');
    expect(await readdir(empty)).toEqual([]);
  });

  it('says what is wrong with a passphrase file', async () => {
    const bad = join(empty, 'bad');
    const run = () => init('news.example', '--passphrase-file', bad);
    await expectError(run(), 2, `there is no ${bad}`, 'hint: name a file that holds the passphrase');
    await expectError(
      init('news.example', '--passphrase-file', '/'),
      2,
      '/ is a directory',
      'hint: name a file that holds the passphrase',
    );
    await writeFile(bad, '', { mode: 0o600 });
    await expectError(run(), 2, 'is empty');
    await writeFile(bad, 'one\ntwo\n');
    await expectError(run(), 2, 'more than one line');
    await writeFile(bad, 'seven77\n');
    await expectError(run(), 2, 'fewer than 8');
    expect(await readdir(empty)).toEqual(['bad']);
    await rm(bad);
    await writeFile(bad, PASSPHRASE, { mode: 0o644 });
    expect((await run()).stderr).toContain('other users of this machine may read');
  });

  it('needs a URL, a terminal or a file', async () => {
    await expectError(init(), 2, "missing required argument 'url'");
    await expectError(init('news.example'), 2, 'there is no terminal', 'hint: name a file');
    await expectError(init('news.example', '--passphrase', PASSPHRASE), 2, "unknown option '--passphrase'");
  });
});

describe('wispr protect', () => {
  it('says what it did: on standard output the summary, on standard error what is to be done', async () => {
    const { code, stdout, stderr } = await inSite('protect', ...withPassphrase);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Protected news\.example: 3 documents in [\d.]+ s\n/);
    expect(stdout).toMatch(/set subscribers +2 documents/);
    expect(stdout).toContain('robots.txt (crawlers read it)');
    expect(stdout).toMatch(
      /bytes of site became .* in protected\n {2}put protected on your web host[\s\S]*\n {2}must be confirmed by \d{4}-.*\n {2}its signatures end on [\d-]{10}, the root's on [\d-]{10}\n/,
    );
    expect(stderr).toMatch(/^wispr: no key bundle was written: .*keyserver\.pub\nwispr: hint: /);
    expect((await readdir(join(site, 'protected'))).join()).toMatch(/[0-9a-f]{64}\.index\.html\.protected/);
  });

  it('hands over the bundle once the key server’s key is there', async () => {
    const file = join(site, 'keyserver.pub');
    await writeFile(file, toBase64url(xwingKeyPair(randomBytes(32)).publicKey));
    const { stdout, stderr } = await inSite('protect', ...withPassphrase);
    expect(stdout).toContain('wispr admin import keys.bundle');
    expect(stderr).toBe('');
    await rm(file);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('leaves nothing half done when %s stops it', async (signal) => {
    const directory = join(root, signal);
    await mkdir(join(directory, 'site'), { recursive: true });
    const inDirectory = { cwd: directory };
    expect(await runWispr(['init', 'http://news.example', ...withPassphrase], inDirectory)).toMatchObject({ code: 0 });
    await writeFile(join(directory, 'site/large.bin'), '');
    await truncate(join(directory, 'site/large.bin'), 2 ** 31);
    const running = startProgram('bin/wispr.js', ['protect', ...withPassphrase], inDirectory);
    const written = () => readdir(join(directory, 'protected')).catch(() => []);
    await vi.waitFor(async () => expect((await written()).join()).toMatch(/wispr-new-/), {
      timeout: 20_000,
      interval: 10,
    });
    expect(await running.stop(signal)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^wispr: stopped; .*\[stopped\]\n/),
    });
    expect(await written()).toEqual(['.well-known']);
    expect(await readdir(join(directory, 'protected/.well-known'))).toEqual(['wispr-site']);
  });

  it('says with --dry-run what it would do, without a passphrase', async () => {
    await inSite('protect', ...withPassphrase);
    await writeFile(join(site, 'site/later.txt'), 'later');
    const before = await snapshot(site);
    const { code, stdout } = await inSite('protect', '--dry-run');
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/nothing was written\n.*1 added, 3 unchanged\n\n +added:\n +\/later\.txt\n/),
    ]);
    expect(JSON.parse((await inSite('protect', '--dry-run', '--json')).stdout)).toMatchObject({
      changes: { added: 1, removed: 0 },
      paths: { added: ['/later.txt'] },
    });
    expect(await snapshot(site)).toEqual(before);
    await rm(join(site, 'site/later.txt'));
  });

  it('says what a new key means', async () => {
    const { stdout, stderr } = await inSite('protect', ...withPassphrase, '--rekey', 'subscribers');
    expect(stdout).toMatch(/2 encrypted anew under a new key, 1 unchanged/);
    expect(stderr).toContain('new key for subscribers: 2 documents are encrypted anew');
    expect(stderr).toContain('readers with the old key keep what was encrypted under it');
    await expectError(
      inSite('protect', ...withPassphrase, '--rekey', 'nobody'),
      2,
      'no document is in the set "nobody"',
    );
  });

  it('goes on with --watch until it is stopped', async () => {
    const running = startProgram('bin/wispr.js', ['protect', '--watch', '--json', ...withPassphrase], { cwd: site });
    await vi.waitFor(() => expect(running.stderr()).toContain('watching '), { timeout: 30_000, interval: 20 });
    await writeFile(join(site, 'site/watched.txt'), 'w');
    const lines = () => running.stdout().trim().split('\n');
    await vi.waitFor(() => expect(lines()).toHaveLength(2), { timeout: 30_000, interval: 20 });
    expect(JSON.parse(lines()[1] ?? '')).toMatchObject({ changes: { added: 1, unchanged: 3 } });
    expect(await running.stop('SIGINT')).toMatchObject({ code: 0 });
    await rm(join(site, 'site/watched.txt'));
  });

  it('looks for the source before it asks for the passphrase', async () => {
    const directory = join(root, 'without-source');
    await mkdir(directory);
    expect(await runWispr(['init', 'news.example', ...withPassphrase], { cwd: directory })).toMatchObject({ code: 0 });
    await expectError(
      runWispr(['protect'], { cwd: directory }),
      1,
      `${join(directory, 'site')}`,
      'check source in wispr.json',
    );
  });

  it('prints one JSON object, or nothing, where asked', async () => {
    const site = join(root, 'for-json');
    await writeSite(site);
    expect(await runWispr(['init', 'http://news.example', ...withPassphrase], { cwd: site })).toMatchObject({
      code: 0,
    });
    expect(await runWispr(['protect', site, ...withPassphrase])).toMatchObject({ code: 0 });
    const { stdout, stderr } = await runWispr([
      'protect',
      site,
      ...withPassphrase,
      '--json',
      '--quiet',
      '--out',
      join(root, 'json-out'),
    ]);
    const warning = expect.stringMatching(/^wispr: no key bundle was written: .*\nwispr: hint: .*\n$/);
    expect(stderr).toEqual(warning);
    expect(JSON.parse(stdout)).toMatchObject({
      site: 'news.example',
      out: join(root, 'json-out'),
      documents: 3,
      sets: [{ name: 'subscribers', documents: 2, isNew: false }],
      publication: { version: expect.any(Number), isNew: true },
      public: [{ documents: 1, paths: ['/robots.txt'] }],
      bytesIn: expect.any(Number),
      bytesOut: expect.any(Number),
      milliseconds: expect.any(Number),
    });
    const quiet = await runWispr(['protect', '-c', join(site, 'wispr.json'), ...withPassphrase, '--quiet']);
    expect(quiet).toEqual({ code: 0, stdout: '', stderr: warning });
    expect(await inSite('protect', ...withPassphrase, '-q')).toEqual({ code: 0, stdout: '', stderr: warning });
  });

  it('exits with 1 and a hint for a wrong passphrase, and changes nothing', async () => {
    const wrong = join(root, 'wrong');
    await writeFile(wrong, 'not the passphrase', { mode: 0o600 });
    const before = await snapshot(site);
    const { code, stdout, stderr } = await inSite('protect', '--passphrase-file', wrong);
    expect([code, stdout, stderr]).toEqual([
      1,
      '',
      'wispr: the passphrase does not open publisher.keys [passphrase-wrong]\nwispr: hint: try again; a lost passphrase cannot be recovered\n',
    ]);
    expect(await snapshot(site)).toEqual(before);
  });

  it('exits with 1 for a site that cannot be protected, and says why and what to do', async () => {
    const bad = join(site, 'site/bad.protected');
    await writeFile(bad, 'x');
    await expectError(
      inSite('protect', ...withPassphrase),
      1,
      '/bad.protected: names that end in .protected',
      'hint: ',
    );
    await rm(bad);
  });

  it('exits with 1 for a configuration with mistakes, before it asks for anything', async () => {
    const file = join(root, 'broken.json');
    const good = await readFile(join(site, 'wispr.json'), 'utf8');
    await writeFile(file, good.replace('"source"', '"sauce"'));
    await expectError(runWispr(['protect', '-c', file]), 1, 'broken.json, line 11: there is no member "sauce"');
    await writeFile(file, good.replace('"https://read.news.example"', '"javascript:alert(1)"'));
    await expectError(runWispr(['protect', '-c', file]), 1, '"reading" must be an https origin');
  });

  it('exits with 1 without its key store', async () => {
    const lone = join(root, 'lone');
    await mkdir(join(lone, 'site'), { recursive: true });
    await writeFile(join(lone, 'wispr.json'), await readFile(join(site, 'wispr.json')));
    await expectError(
      runWispr(['protect', lone, ...withPassphrase]),
      1,
      'publisher.keys',
      'else restore it from your backup',
    );
  });

  it('exits with 2 for wrong arguments', async () => {
    await expectError(runWispr(['protect', root, ...withPassphrase]), 2, '[configuration-invalid]', 'hint: ');
    await expectError(runWispr(['protect', join(root, 'nowhere')]), 2, 'there is no');
    await expectError(runWispr(['protect', site, '-c', join(site, 'wispr.json')]), 2, 'either DIR or -c FILE');
    await expectError(inSite('protect', '--nonsense'), 2, "unknown option '--nonsense'");
    await expectError(inSite('protect'), 2, 'there is no terminal');
  });
});

/** The file of a document's object, below the workspace. */
async function objectOf(document: string): Promise<string> {
  const names = await readdir(join(site, 'protected'));
  return `protected/${names.find((name) => name.slice(65) === `${document}.protected`)}`;
}

describe('wispr inspect', () => {
  beforeAll(async () => {
    await inSite('protect', ...withPassphrase);
  });

  it('shows what an object says, and that nothing is proved', async () => {
    const { code, stdout, stderr } = await inSite('inspect', await objectOf('index.html'));
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /site +news\.example\n +path +\/index\.html\n +document +encrypted\n +set key +[\w-]{43}\n +publisher/,
    );
    expect(stdout).toMatch(/head +\d+ bytes\n +payload +\d+ bytes in 1 block/);
    expect(stderr).toContain('none of this is proved');
    const signed = await inSite('inspect', await objectOf('robots.txt'));
    expect(signed.stdout).toMatch(/signed, not encrypted[\s\S]*media type +text\/plain; charset=utf-8/);
  });

  it('prints one JSON object where asked', async () => {
    const { stdout, stderr } = await inSite('inspect', await objectOf('a b.bin'), '--json');
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({
      proved: false,
      carrier: 'bare',
      blocks: 1,
      header: { path: '/a b.bin' },
    });
  });

  it('says that an object is damaged, by its length', async () => {
    const file = join(root, 'cut.protected');
    const object = await readFile(join(site, await objectOf('index.html')));
    await writeFile(file, object.subarray(0, -1));
    expect((await runWispr(['inspect', file])).stdout).toMatch(/DAMAGED: \d+ bytes follow the head, \d+ bytes should/);
  });

  it('exits with 1 for other files, with 2 for none', async () => {
    await expectError(inSite('inspect', 'wispr.json'), 1, '[object-unrecognised]');
    await expectError(inSite('inspect', 'nothing'), 2, 'there is no nothing');
    await expectError(inSite('inspect', 'site'), 1, 'site is a directory');
    await expectError(inSite('inspect'), 2, 'missing required argument');
  });
});

describe('wispr verify', () => {
  beforeEach(async () => {
    await inSite('protect', ...withPassphrase);
  });

  it('exits with 0 for a good tree, and says what it did', async () => {
    const result = await inSite('verify');
    expect([result.code, result.stdout]).toEqual([0, '']);
    expect(result.stderr).toMatch(
      /protected is news\.example, published by [\w-]{43}\n.*trusted: the host proof.*\n.*publication \d+, confirmed .*\n.*2 encrypted documents and 1 public document passed/,
    );
    expect(result.stderr).toContain('1 fallback page, not signed');
    expectOneVoice(result);
  });

  it('does not call pages of the publisher’s own template those of wispr', async () => {
    const file = join(site, 'protected/index.html');
    const built = await readFile(file, 'utf8');
    const reading = /id="read"[^>]* href="([^"]+)"|href="([^"]+)"[^>]* id="read"/.exec(built);
    await rm(file);
    await writeFile(file, `<a id="read" href="${reading?.[1] ?? reading?.[2]}">Read</a>${OWN_TEMPLATE_MARK}`);
    const { code, stderr } = await inSite('verify');
    await rm(file);
    await writeFile(file, built);
    expect(code).toBe(0);
    expect(stderr).toContain('note: of 1 fallback page only the Read link was checked');
    expect(stderr).not.toContain('as wispr makes them');
  });

  it('exits with 3 when something is found, and names it with path and code', async () => {
    await rm(join(site, 'protected/robots.txt'));
    await writeFile(join(site, 'protected/robots.txt'), 'Disallow: /');
    await writeFile(join(site, 'protected/evil.js'), 'x');
    const { code, stdout } = await inSite('verify', 'protected', '--quiet');
    expect(code).toBe(3);
    expect(stdout).toBe(
      'extra: /evil.js: file-unsigned: nothing signs this file\ncorrupted: /robots.txt: file-altered: not what the publisher signed\n',
    );
    expect(await inSite('verify', 'protected', '-q')).toEqual({ code, stdout, stderr: '' });
    const json = await inSite('verify', 'protected', '--json');
    expect([json.code, JSON.parse(json.stdout).findings.length]).toEqual([3, 2]);
    // What is missing is made again.
    for (const name of ['evil.js', 'robots.txt']) await rm(join(site, 'protected', name));
  });

  it('says what it takes where a target of publish is named, and repeats none of it', async () => {
    const { code, stdout, stderr } = await inSite('verify', 's3://id:secret@news/today');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('has to be like s3://bucket or s3://bucket/prefix [argument-invalid]');
    expect(stderr).not.toContain('secret');
    const other = await inSite('verify', 'sftp://id:secret@news/today');
    expect(other.stderr).toMatch(
      /a directory, s3:.*, or a site at a URL .*\nwispr: hint: name the URL where readers find/,
    );
    expect(other.stderr).not.toContain('secret');
    await expectError(inSite('verify', 'news.example'), 2, 'there is no news.example', 'a URL begins with https://');
  });

  it('checks a published site by its URL, without secret keys', async () => {
    const host = await startContentHost();
    for (const [path, content] of await snapshot(join(site, 'protected'))) {
      host.files.set(encodeURI(`/${path}`), Buffer.from(content, 'base64'));
    }
    const good = await runWispr(['verify', host.origin], { cwd: root });
    expect([good.code, good.stdout]).toEqual([0, '']);
    expect(good.stderr).toContain('2 encrypted documents and 1 public document passed');
    const bad = await runWispr(['verify', host.origin, '/missing.html'], { cwd: root });
    expect([bad.code, bad.stdout]).toEqual([3, expect.stringContaining('/missing.html: file-missing: ')]);
    host.requests.length = 0;
    const hint = `hint: one document is checked by: wispr verify ${host.origin} /big-bucket`;
    await expectError(runWispr(['verify', `${host.origin}/big-bucket`]), 2, 'does not end with a slash', hint);
    expect(host.requests).toEqual([]);
    await host.close();
    await expectError(runWisprProgram(['verify', host.origin]), 1, 'ECONNREFUSED');
  });

  it('exits with 2 for wrong arguments', async () => {
    await expectError(runWispr(['verify'], { cwd: root }), 2, 'there is no', 'wispr.json', 'hint: ');
    await expectError(inSite('verify', 'nowhere'), 2, 'there is no nowhere');
    await expectError(inSite('verify', 'protected', '/index.html'), 2, 'paths can be named with a URL only');
    await expectError(inSite('verify', 'protected', '--root', 'me'), 2, 'is not a root id');
    await expectError(inSite('verify', 'protected', '--site', 'A B'), 2, 'is not a host name');
  });

  it('checks that it is the expected publisher', async () => {
    const { code, stdout } = await inSite('verify', 'protected', '--root', 'A'.repeat(43));
    expect([code, stdout]).toEqual([3, expect.stringContaining('root-unexpected')]);
  });
});

describe('a passphrase out of a pipe', () => {
  const program = `"${process.execPath}" "${ROOT}bin/wispr.js"`;
  const ended = (script: string) => startCommand(['bash', '-c', script], { cwd: site }).ended;

  it.each([
    ['standard input', `cat "${passphraseFile}" | ${program} protect -q --passphrase-file /dev/stdin`],
    ['a process substitution', `${program} protect -q --passphrase-file <(cat "${passphraseFile}")`],
    ['a named pipe', `mkfifo p && (cat "${passphraseFile}" > p & ${program} protect -q --passphrase-file p)`],
  ])('is read once: %s', async (_, script) => {
    expect(await ended(script)).toMatchObject({ code: 0 });
  });

  it('is read once for several keys', async () => {
    const passphrases = `--passphrase-file "${passphraseFile}" --key-passphrase-file`;
    for (const key of ['one.key', 'other.key'])
      expect(await inSite('keys', 'new-signer', key, ...withPassphrase)).toMatchObject({ code: 0 });
    const keys = '--key one.key --key other.key';
    const { stderr } = await ended(`${program} protect -q ${keys} ${passphrases} <(cat "${passphraseFile}")`);
    expect(stderr).toContain('[signatures-missing]'); // both were opened, and neither may sign here
  });
});
