/** Publishing without a key server: what `wispr init --serverless`, `invite`, `publish`, `timestamp` and `verify` do. The rest is in tests/e2e/serverless.test.ts. */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { isServerless } from '../../core/keys/descriptor.ts';
import { keyFileAddressOf, openKeyFile } from '../../core/keys/key-file.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { type OpenKeyStore, openKeyStore } from '../../publisher/keys/key-store.ts';
import { invite } from '../../publisher/serverless/invitations.ts';
import { keyPeriodOf } from '../../publisher/serverless/key-files.ts';
import { READING_SITE_FILES } from '../../publisher/serverless/reading-site.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { parseConfiguration } from '../../publisher/workspace/configuration/read.ts';
import { buildWebReader } from '../support/web-reader.ts';
import { runOnTerminal, runWispr } from '../support/wispr.ts';
import { PASSPHRASE, snapshot } from '../support/workspace.ts';

const ORIGIN = 'https://friends.example';

let directory: string;
let out: string;
let web: string;
beforeAll(async () => {
  await buildWebReader();
  directory = await mkdtemp(join(tmpdir(), 'wispr-alone-'));
  [out, web] = [join(directory, 'protected'), join(directory, 'web')];
  await writeFile(join(directory, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  await mkdir(join(directory, 'site/2026'), { recursive: true });
  await writeFile(join(directory, 'site/index.html'), '<!doctype html><title>Hello</title><p>Hello.');
  await writeFile(join(directory, 'site/2026/a.html'), '<!doctype html><title>A</title><p>A.');
  await good('init', ORIGIN, '--serverless');
  await change('"sets": []', '"sets": [{ "name": "{yyyy}", "path": "{yyyy}/**" }]');
  await refused(1, 'no reader can get a key: there are no invitations', 'publish');
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const wispr = (...args: string[]) => runWispr([...args, '--passphrase-file', 'passphrase'], { cwd: directory });
async function good(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await wispr(...args);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return { stdout, stderr };
}
async function refused(code: number, words: string, ...args: string[]): Promise<void> {
  const { code: found, stderr } = await wispr(...args);
  expect([found, stderr]).toEqual([code, expect.stringContaining(words)]);
}
async function change(from: string, to: string): Promise<void> {
  const file = join(directory, 'wispr.json');
  const text = await readFile(file, 'utf8');
  expect(text).toContain(from);
  await writeFile(file, text.replace(from, to));
}
const keyStore = async (): Promise<OpenKeyStore> =>
  openKeyStore(await readFile(join(directory, 'publisher.keys')), PASSPHRASE);
const keyFiles = async (root = out) => {
  const paths = [...(await snapshot(root)).keys()].filter((path) => path.includes('-/keys/'));
  return paths.map((path) => basename(path)).sort();
};

/** Returns what a link opens, as names of sets. */
async function setsOf(link: string): Promise<{ sets: string[]; notAfter: number }> {
  const { contents, rootId } = await keyStore();
  const context = { root: rootId, site: 'friends.example' };
  const secret = fromBase64url(link.split('#i=')[1]?.trim()) ?? new Uint8Array();
  const { name, key } = await keyFileAddressOf(secret, context);
  const { keys } = await openKeyFile(await readFile(join(out, '-/keys', name)), key, context);
  const named = await Promise.all(
    [...contents.sets].map(async ([set, each]) => [await keyIdOf('set', each), set] as const),
  );
  const names = new Map(named);
  return { sets: keys.map(({ id }) => names.get(id) ?? '?').sort(), notAfter: keys[0]?.notAfter ?? 0 };
}

describe('a configuration without a key server', () => {
  const configured = (members: object) =>
    parseConfiguration(
      JSON.stringify({ site: 'friends.example', source: 'site', out: 'protected', content: ORIGIN, ...members }),
      'wispr.json',
    );
  const servers = { keyServer: 'https://keys.friends.example', reading: 'https://read.friends.example' };

  it('puts its own origin in their places, and the publisher signs timestamps', () => {
    const alone = { keyServer: ORIGIN, reading: ORIGIN, timestampBy: 'publisher' };
    expect(configured({})).toMatchObject(alone);
    expect(configured({ content: [ORIGIN, 'http://mirror.example'] })).toMatchObject(alone);
    expect(configured(servers)).toMatchObject({ ...servers, timestampBy: 'keyserver' });
  });

  it.each([
    ['a key server that is there for nothing', { keyServer: servers.keyServer, timestampBy: 'publisher' }],
    ['a reading site alone', { reading: servers.reading }],
    ['timestamps by a key server', { timestampBy: 'keyserver' }],
    ['a token for one', { keyServerTokenFile: 'token' }],
    ['plain http', { content: 'http://friends.example' }],
    ['plain http in front', { content: ['http://friends.example', ORIGIN] }],
  ])('is refused with %s', (_, members) => {
    expect(() => configured(members)).toThrow(expect.objectContaining({ code: 'configuration-invalid' }));
  });

  it('is not made for plain http', async () => {
    const other = await mkdtemp(join(tmpdir(), 'wispr-http-'));
    const { code, stderr } = await runWispr(['init', 'http://friends.example', '--serverless'], { cwd: other });
    expect([code, stderr]).toEqual([2, expect.stringContaining('[site-refused]')]);
    expect(await readdir(other)).toEqual([]);
  });
});

it('keys hold from a day before the month to the end of the month after next', () => {
  const period = (date: string) => {
    const { notBefore, notAfter } = keyPeriodOf(Date.parse(date) / 1000);
    return [notBefore, notAfter].map((time) => new Date(time * 1000).toISOString().slice(0, 19));
  };
  expect(period('2026-11-25T10:00:00Z')).toEqual(['2026-10-31T00:00:00', '2027-01-31T23:59:59']);
  expect(period('2026-12-31T23:59:59Z')).toEqual(['2026-11-30T00:00:00', '2027-02-28T23:59:59']);
  expect(period('2028-01-01T00:00:00Z')).toEqual(['2027-12-31T00:00:00', '2028-03-31T23:59:59']);
});

describe('invitations', () => {
  let ada: string;
  let ben: string;

  it('have a link each, which stays the same', async () => {
    const first = await good('invite', 'ada');
    ada = first.stdout.trim();
    expect(ada).toMatch(/^https:\/\/friends\.example\/-\/open\.html#i=[\w-]{22}$/);
    expect(first.stderr).toContain('wispr publish');
    expect((await good('invite', 'ada')).stdout.trim()).toBe(ada);
    ben = JSON.parse((await good('invite', 'ben', '--sets', '20*', '--until', '2099-01-31', '--json')).stdout).link;
    expect(ben).not.toBe(ada);
    await good('publish');
    expect(await setsOf(ada)).toEqual({
      sets: ['2026', 'subscribers'],
      notAfter: keyPeriodOf(nowInSeconds()).notAfter,
    });
    expect((await setsOf(ben)).sets).toEqual(['2026']);
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    const again = JSON.parse(
      (await good('invite', 'ben', '--until', tomorrow, '--sets', 'sub*,none', '--json')).stdout,
    );
    expect(again).toMatchObject({ link: ben, created: false, unmatched: ['none'] });
    await good('publish');
    expect(await setsOf(ben)).toEqual({ sets: ['subscribers'], notAfter: Date.parse(`${tomorrow}T23:59:59Z`) / 1000 });
  });

  it('leave their files as they are until something else is to be said', async () => {
    const times = async () =>
      Promise.all((await keyFiles()).map(async (name) => (await stat(join(out, '-/keys', name))).mtimeMs));
    for (const name of await keyFiles()) await utimes(join(out, '-/keys', name), 1000, 1000);
    await good('publish');
    await good('timestamp');
    expect(await times()).toEqual([1_000_000, 1_000_000]);
    await good('publish', '--rekey', '2026');
    expect((await times()).sort()).toEqual([1_000_000, expect.any(Number)]); // ben has no key of that set
    expect((await setsOf(ada)).sets).toEqual(['2026', 'subscribers']);
  });

  it('attack 72: of whom nothing shows, in all files together, without a link', async () => {
    await good('invite', 'ada');
    await good('publish');
    const { contents } = await keyStore();
    const secrets = [
      ...contents.sets.values(),
      ...contents.invitations.map(({ secret }) => secret),
      contents.publisherSeed,
      ...Object.values(contents.seeds),
    ];
    const spellings = secrets.flatMap((each) => {
      const bytes = Buffer.from(each);
      return [bytes, ...(['base64', 'base64url', 'hex'] as const).map((coding) => Buffer.from(bytes.toString(coding)))];
    });
    const everything = [...(await snapshot(out)).entries()];
    expect(everything.length).toBeGreaterThan(15);
    for (const file of everything.map(([path]) => path)) {
      const bytes = await readFile(join(out, file));
      for (const spelling of spellings) expect(bytes.includes(spelling), file).toBe(false);
      for (const name of ['ada', 'ben']) expect(file.startsWith('/-/keys/') && bytes.includes(name)).toBe(false);
    }
    const lengths = await Promise.all(
      (await keyFiles()).map(async (name) => (await stat(join(out, '-/keys', name))).size),
    );
    expect(new Set(lengths).size).toBe(1);
  });

  it('that were removed, or have ended, have no file from the next publish on, at targets neither', async () => {
    await change('// "publish": "s3://news-example",', '"publish": "web",');
    await good('publish', '--yes');
    expect(await keyFiles(web)).toEqual(await keyFiles());
    expect((await verifyTree(web)).findings).toEqual([]);
    const removed = await good('invite', 'ada', '--remove');
    expect(removed.stderr).toMatch(/their keys end on \d{4}-\d\d-\d\d at the latest/);
    const configurationFile = join(directory, 'wispr.json');
    await invite({ configurationFile, passphrase: PASSPHRASE, name: 'ben', until: nowInSeconds() - 1 });
    await refused(1, 'there are no invitations', 'publish');
    expect([await keyFiles(), await keyFiles(web)]).toEqual([[], []]);
    expect((await good('invite', 'ada')).stdout.trim()).not.toBe(ada);
    await good('timestamp');
    expect(await keyFiles(web)).toHaveLength(1);
  });

  it('with a password ask for it twice, and keep it nowhere', async () => {
    const answers = (again: string) =>
      [
        ['passphrase', `${PASSPHRASE}\r`],
        ['a password for class', 'long enough\r'],
        ['again', `${again}\r`],
      ] as const;
    const differ = await runOnTerminal(['invite', 'class', '--password'], answers('other one'), { cwd: directory });
    expect(differ.code).toBe(2);
    const { code, shown } = await runOnTerminal(['invite', 'class', '--password'], answers('long enough'), {
      cwd: directory,
    });
    expect([code, shown]).toEqual([0, expect.stringMatching(/open\.html#p=[\w-]{22}/)]);
    const link = /https:\S+/.exec(shown)?.[0];
    expect((await good('invite', 'class')).stdout.trim()).toBe(link);
    const { salt, secret } = (await keyStore()).contents.invitations.find(({ name }) => name === 'class') ?? {};
    expect([salt?.length, secret?.length]).toEqual([16, 32]);
    const noTerminal = await wispr('invite', 'class', '--password');
    expect(noTerminal.code).toBe(2);
  });
});

describe('the reading site', () => {
  it('is in the output with the descriptor that says so, and verify finds every change of it', async () => {
    await good('publish');
    const { sites } = JSON.parse(await readFile(join(web, '.well-known/wispr-provider'), 'utf8'));
    expect(isServerless(sites[0])).toBe(true);
    const report = await verifyTree(web);
    expect(report).toMatchObject({ findings: [], leftovers: expect.any(Number), keyFiles: 2 });
    const copy = await mkdtemp(join(tmpdir(), 'wispr-copy-'));
    await cp(web, copy, { recursive: true });
    for (const path of READING_SITE_FILES) await writeFile(join(copy, path), 'EVIL');
    const [one = '', two = ''] = await keyFiles(copy);
    await writeFile(join(copy, '-/keys', one), 'EVIL');
    await rm(join(copy, '-/keys', two));
    await writeFile(join(copy, '-/keys/more'), 'EVIL');
    await writeFile(join(copy, '-/more.js'), 'EVIL');
    const { findings } = await verifyTree(copy);
    expect(findings.map(({ path, code }) => `${code} ${path}`).sort()).toEqual(
      [
        ...[...READING_SITE_FILES, `/-/keys/${one}`].map((path) => `file-altered ${path}`),
        'file-unsigned /-/keys/more',
        'file-unsigned /-/more.js',
      ].sort(),
    );
    await rm(copy, { recursive: true });
  });

  it('is mended by the next publish, and the publisher is told of what is not its own', async () => {
    for (const root of [out, web]) for (const path of READING_SITE_FILES) await writeFile(join(root, path), 'EVIL');
    await good('publish');
    expect((await verifyTree(web)).findings).toEqual([]);
    await writeFile(join(out, '-/more.js'), 'EVIL');
    await refused(1, '[output-foreign]', 'publish');
    await rm(join(out, '-/more.js'));
  });

  it.each(['wispr-worker.js', 'WISPR-WORKER.JS', 'wispr-worker.js/x.html', '-/open.html'])(
    'attack 101: is in the way of no document: %s is refused',
    async (name) => {
      const file = join(directory, 'site', name);
      await mkdir(join(file, '..'), { recursive: true });
      await writeFile(file, 'EVIL');
      const before = await snapshot(out);
      await refused(1, '[source-refused]', 'publish');
      expect((await runWispr(['check', '--quiet'], { cwd: directory })).code).toBe(3);
      expect(await snapshot(out)).toEqual(before);
      await rm(join(directory, 'site', name.split('/')[0] ?? ''), { recursive: true });
    },
  );

  it('goes away, at targets too, when the site gets a key server', async () => {
    const text = await readFile(join(directory, 'wispr.json'), 'utf8');
    await change(
      '"content":',
      '"keyServer": "https://keys.friends.example", "reading": "https://read.friends.example", "timestampBy": "publisher", "content":',
    );
    await refused(2, 'https://keys.friends.example', 'invite', 'eve');
    await refused(1, 'keyserver.pub', 'publish');
    for (const root of [out, web])
      expect([...(await snapshot(root)).keys()].filter((path) => /^\/?(?:-|wispr-worker)/.test(path))).toEqual([]);
    await writeFile(join(directory, 'wispr.json'), text);
    await good('publish');
    expect((await verifyTree(web)).findings).toEqual([]);
  });
});

it('has no configuration for nginx, which would lead readers in circles', async () => {
  const { code, stderr } = await runWispr(['cache-config', 'nginx'], { cwd: directory });
  expect([code, stderr]).toEqual([2, expect.stringContaining('needs no configuration')]);
});

it('odd names, patterns and dates, what only a key server can do, and a day that is over, are refused', async () => {
  const before = await readFile(join(directory, 'publisher.keys'));
  for (const args of [[''], [' ada'], ['a\u0000b'], ['ada', '--sets', 'a b'], ['ada', '--until', '2027-02-31']])
    await refused(2, '', 'invite', ...args);
  for (const [option = '', value = '', words = ''] of [
    ['--plan', 'daily', 'is for a key server'],
    ['--from', '2099-01-01', 'is for a key server'],
    ['--for', '7', 'is for a key server'],
    ['--valid', '7', 'is for a key server'],
    ['--until', '2026-01-01', 'is over'],
  ])
    await refused(2, words, 'invite', 'ada', option, value);
  expect(await readFile(join(directory, 'publisher.keys'))).toEqual(before);
});
