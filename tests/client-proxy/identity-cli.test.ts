/** `wispr identity` as a person types it. */
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withItsSites } from '../../cli/commands/identity-forget.ts';
import { formatConnectTo } from '../../client-proxy/index.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { hostProofLine } from '../../core/keys/descriptor.ts';
import { startDnsServer } from '../support/dns-server.ts';
import { type Filled, fillStore, secretsIn } from '../support/filled-store.ts';
import type { Ended } from '../support/programs.ts';
import { startProvablePublisher } from '../support/provable-publisher.ts';
import { CleanUp, temporaryFolder } from '../support/reader-rig.ts';
import { runOnTerminal, runWispr, startWispr } from '../support/wispr.ts';

const cleanUp = new CleanUp();
let home: string;
let storage: { dataDirectory: string; keyFile: string };
let filled: Filled;
/** What lets the site in a roaming file be proved here. */
let reach: string[];
/** All that was ever said. */
let said: string[];
beforeEach(async () => {
  home = await temporaryFolder(cleanUp);
  storage = { dataDirectory: join(home, 'data', 'wispr'), keyFile: join(home, 'config', 'wispr', 'reader.key') };
  const { publisher, server, connectTo } = await startProvablePublisher(cleanUp);
  filled = await fillStore(storage, { publisher, keyServer: server.origin });
  reach = ['--connect-to', formatConnectTo(connectTo), '--allow-local', '127.0.0.1', '--trust-site', publisher.site];
  said = [];
});
afterEach(() => cleanUp.run());

interface Shown {
  readonly publishers: readonly unknown[];
}

const env = (place = home) => ({
  PATH: process.env.PATH,
  HOME: place,
  XDG_DATA_HOME: join(place, 'data'),
  XDG_CONFIG_HOME: join(place, 'config'),
});

async function run(args: readonly string[], place?: string): Promise<Ended> {
  const ended = await runWispr(['identity', ...args], { env: env(place) });
  said.push(ended.stdout, ended.stderr);
  return ended;
}

async function good(...args: string[]): Promise<Ended> {
  const ended = await run(args);
  expect([ended.code, ended.stderr]).toEqual([0, expect.not.stringContaining('internal')]);
  return ended;
}

function secretFile(name: string, text: string): string {
  const path = join(home, name);
  writeFileSync(path, `${text}\n`, { mode: 0o600 });
  return path;
}

describe('wispr identity', () => {
  it('shows publishers, and what the keys are sealed with, without a key', async () => {
    const { stdout } = await good();
    expect(stdout).toContain('news.example');
    expect(stdout).toContain(storage.keyFile);
    const { stdout: json } = await good('show', '--json');
    expect(JSON.parse(json)).toMatchObject({
      directory: storage.dataDirectory,
      keysIn: 'key-file',
      publishers: [
        { keyServer: filled.keyServer, sites: ['news.example'], proofs: { 'news.example': 'host' }, setKeys: 1 },
      ],
      roaming: null,
    });
  });

  it('says what is wrong with the key file, and how to go on', async () => {
    const key = readFileSync(storage.keyFile);
    const other = toBase64url(new Uint8Array(32));
    for (const [content, code, way] of [
      [
        undefined,
        'storage-key-refused',
        /restore .* move it and reader\.db away.* identity import FILE.* new invitation/,
      ],
      [
        `${other}\n`,
        'storage-key-refused',
        /restore .* move it and reader\.db away.* identity import FILE.* new invitation/,
      ],
      [
        'no key',
        'storage-key-refused',
        /restore .* move it and reader\.db away.* identity import FILE.* new invitation/,
      ],
      [key, 'storage-key-refused', /chmod 600/],
    ] as const) {
      rmSync(storage.keyFile);
      if (content !== undefined) writeFileSync(storage.keyFile, content, { mode: content === key ? 0o644 : 0o600 });
      const shown = await run([]);
      expect([shown.code, shown.stdout]).toEqual([1, expect.not.stringContaining('only you can read')]);
      expect(shown.stderr).toContain(`[${code}]`);
      expect(shown.stderr).toMatch(way);
      expect(JSON.parse((await run(['show', '--json'])).stdout)).toMatchObject({ keyProblem: code });
      if (content === undefined) writeFileSync(storage.keyFile, '');
    }
    chmodSync(storage.keyFile, 0o600);
    expect((await good()).stdout).toContain(`${storage.keyFile}, which only you can read`);
  });

  it('a lost key file: importing a roaming file says what to do first, before it asks for words; done so, it brings all back', async () => {
    const file = join(home, 'my.roaming');
    const words = join(home, 'words');
    await good('export', file, '--words-file', words);
    rmSync(storage.keyFile);
    expect((await run([])).stderr).toMatch(/hint: .*roaming file .*number 1;/);
    const never = join(home, 'never-read');
    for (const how of [[], ['--replace', '--yes']]) {
      const { code, stdout, stderr } = await run(['import', file, '--words-file', never, ...how]);
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('[storage-key-refused]')]);
      expect(stderr).toMatch(/hint: restore .* move it and reader\.db away.* identity import FILE/);
    }
    const database = join(storage.dataDirectory, 'reader.db');
    renameSync(database, `${database}.lost`);
    expect((await good('import', file, '--words-file', words, '--yes', ...reach)).stderr).toContain(
      'can be read now: news.example',
    );
    expect((await good()).stdout).toContain('news.example');
  });

  it('attack 105: importing lists the sites and asks; --yes is for those that are proved, and by hand only with --trust-site', async () => {
    const [file, words] = [join(home, 'my.roaming'), join(home, 'words')];
    await good('export', file, '--words-file', words);
    const dns = await startDnsServer();
    cleanUp.add(dns.close);
    const away = join(home, 'away');
    const nothing = ['--connect-to', ':443:127.0.0.1:9', '--dns-server', dns.address, ...reach.slice(0, 4)];
    const importing = (...args: string[]) => run(['import', file, '--words-file', words, ...args], away);
    const sites = async () => (JSON.parse((await run(['show', '--json'], away)).stdout) as Shown).publishers;
    expect(await importing('--yes', ...nothing)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/\[host-unreachable\]/),
    });
    expect(await importing(...reach)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/news\.example, of .*not proved: trusted by hand.*needs a yes.*hint: add --yes/s),
    });
    expect(await sites()).toEqual([]);
    expect(await importing('--yes', ...reach)).toMatchObject({ code: 0 });
    expect(await sites()).toMatchObject([{ proofs: { 'news.example': 'trusted-by-hand' } }]);
    expect((await run([], away)).stdout).toContain('news.example  (not proved: trusted by hand)');
    dns.records.set('_wispr.news.example', [hostProofLine(filled.publisher.root.id)]);
    expect(await importing('--replace', '--yes', ...nothing)).toMatchObject({ code: 0 });
    expect((await run([], away)).stdout).toContain('news.example  (DNS alone names this publisher)');
  });

  it('names a publisher that has the name of its site once, and what it says of files is true of them', async () => {
    const place = join(home, 'reader.db');
    writeFileSync(place, '');
    const file = secretFile('words', 'one\ntwo');
    const unwritable = await run(['export', join(place, 'x'), '--words-file', join(home, 'new')]);
    expect([unwritable.code, unwritable.stderr]).toEqual([
      2,
      expect.stringMatching(/^wispr: cannot write .*\[output-failed\]\nwispr: hint: /),
    ]);
    await good('export', join(home, 'mine'), '--words-file', join(home, 'new'));
    writeFileSync(join(home, 'cut'), readFileSync(join(home, 'mine')).subarray(0, 9000));
    const cut = await run(['import', join(home, 'cut'), '--words-file', file]);
    expect([cut.code, cut.stderr]).toEqual([
      1,
      expect.stringMatching(/\[roaming-malformed\]\nwispr: hint: fetch it again, whole/),
    ]);
    const words = await run(['import', join(home, 'mine'), '--words-file', file]);
    expect([words.code, words.stderr]).toEqual([2, expect.stringContaining('the words file')]);
    const { stderr } = await good('forget', 'news.example', '--yes');
    expect(stderr).toContain(', 1 key of a set, ');
    expect(withItsSites({ name: 'news.example', sites: ['news.example'] })).toBe('news.example');
    expect(withItsSites({ name: 'News', sites: ['a.example', 'b.example'] })).toBe('News, with a.example, b.example');
  });

  it('makes nothing where there is nothing, and says what to do', { timeout: 120_000 }, async () => {
    const elsewhere = join(home, 'elsewhere');
    const shown = await run([], elsewhere);
    expect([shown.code, shown.stderr]).toEqual([0, expect.stringContaining('wispr bind')]);
    for (const args of [
      ['lock'],
      ['forget', '--everything', '--yes'],
      ['protect', 'key-file'],
      ['export', join(home, 'x')],
    ])
      expect(await run(args, elsewhere)).toMatchObject({ code: 2, stderr: expect.stringContaining('not-connected') });
    expect(existsSync(elsewhere)).toBe(false);
  });

  it.each([
    [['protect'], /how/],
    [['protect', 'a-safe'], /keyring, passphrase, key-file/],
    [['export'], /file/],
    [['import'], /from/],
    [['forget'], /--everything/],
    [['forget', 'news.example', '--everything'], /--everything/],
    [['forget', 'news.example'], /--yes/],
    [['forget', 'other.example', '--yes'], /not connected/],
    [['protect', 'passphrase'], /--new-passphrase-file/],
    [['export', '/tmp/wispr-never-made.roaming'], /--words-file/],
  ])('%j is typed wrong: exit code 2, a hint, nothing changed', async (args, words) => {
    const before = await secretsIn(storage);
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(words)]);
    expect(stderr).toMatch(/^wispr: hint: /m);
    expect(await secretsIn(storage)).toEqual(before);
    expect(existsSync('/tmp/wispr-never-made.roaming')).toBe(false);
  });

  it('a passphrase that protects nothing is no passphrase', async () => {
    const args = ['protect', 'passphrase', '--passphrase-file', secretFile('any', 'whatever')];
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('[passphrase-unexpected]')]);
    expect(stderr).toContain('--new-passphrase-file FILE');
  });

  it('a keyring that no session has is no way, and those that are one are named', async () => {
    const { code, stderr } = await run(['protect', 'keyring']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('[keyring-unavailable]')]);
    expect(stderr).toMatch(/hint: .*identity protect passphrase.* or .*identity protect key-file/);
  });

  it.each(['lock', 'unlock'])('%s says so in one line where no Reader runs', async (command) => {
    expect((await good(command)).stderr).toMatch(/^wispr: no Reader runs [^\n]*\n$/);
  });

  it('a file with a secret that others can read is refused, as key files are, and nothing is done with it', async () => {
    const open = secretFile('open', 'whatever');
    for (const mode of [0o640, 0o604]) {
      chmodSync(open, mode);
      for (const args of [
        ['protect', 'passphrase', '--new-passphrase-file', open],
        ['unlock', '--passphrase-file', open],
        ['export', join(home, 'x'), '--passphrase-file', open],
      ]) {
        const { code, stderr } = await run(args);
        expect([code, stderr]).toEqual([
          2,
          expect.stringMatching(/may read the passphrase file .*\n.*hint: chmod 600 /),
        ]);
      }
    }
    expect((await good()).stdout).toContain(storage.keyFile);
    chmodSync(open, 0o600);
    await good('protect', 'passphrase', '--new-passphrase-file', open);
  });

  it('has help that fits a terminal', { timeout: 120_000 }, async () => {
    for (const command of ['show', 'protect', 'export', 'import', 'lock', 'unlock', 'forget']) {
      const { stdout } = await good(command, '--help');
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    }
  });
});

describe('a whole life', () => {
  it('attack 93: protected, locked, taken along, forgotten: no secret is said, printed, or in an argument', {
    timeout: 300_000,
  }, async () => {
    const first = secretFile('first', 'correct horse battery');
    const second = secretFile('second', 'staple of another kind');
    const file = join(home, 'my.roaming');
    const wordsFile = join(home, 'words');
    await good('protect', 'passphrase', '--new-passphrase-file', first, '--json');
    const proxy = await startWispr<{ locked: boolean }>(['proxy', '--port', '0'], { env: env() });
    cleanUp.add(() => proxy.stop('SIGKILL'));
    expect(proxy.ready.locked).toBe(true);
    const status = () => runWispr(['proxy', 'status'], { env: env() });
    expect(await status()).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('\nlocked: '),
      stderr: expect.stringContaining('wispr identity unlock'),
    });
    await good('unlock', '--passphrase-file', first);
    expect((await status()).stdout).not.toContain('locked');
    await good('protect', 'passphrase', '--passphrase-file', first, '--new-passphrase-file', second);
    await good('lock', '--json');
    expect(await run(['unlock', '--passphrase-file', first])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^wispr: .*\[passphrase-wrong\]\nwispr: hint: /),
    });
    await good('unlock', '--passphrase-file', second);
    await good('export', file, '--words-file', wordsFile, '--passphrase-file', second);
    expect(statSync(wordsFile).mode & 0o777).toBe(0o600);
    const words = readFileSync(wordsFile, 'utf8').trim().split(' ');
    expect(words).toHaveLength(7);
    const mistyped = secretFile('mistyped', words.with(3, `${words[3]}q`).join(' '));
    const away = ['--data', join(home, 'away'), '--key-file', join(home, 'away.key')];
    expect(await run(['import', file, '--words-file', mistyped, ...away])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('word 4'),
    });
    expect(existsSync(join(home, 'away'))).toBe(false);
    const { stdout } = await good('import', file, '--words-file', wordsFile, '--json', '--yes', ...reach, ...away);
    expect(JSON.parse(stdout)).toMatchObject({ number: 1, added: ['news.example'], keysNowIn: 'key-file' });
    await good('forget', 'news.example', '--yes', ...away);
    await good('forget', '--everything', '--yes', ...away);
    const { stdout: log, stderr } = await proxy.stop();
    const all = [...said, log, stderr].join('\n');
    const { seed, deviceKey, set } = filled;
    const keys = [seed, deviceKey.key, set.key].flatMap((key) => [toBase64url(key), Buffer.from(key).toString('hex')]);
    // Not each word by itself: some stand in ordinary sentences. Whatever is said of them would have two beside one another, or the one mistyped.
    const pairs = words.slice(1).map((word, index) => new RegExp(`${words[index]}[^a-z]+${word}`, 'i'));
    for (const secret of [
      'correct horse',
      'staple of',
      readFileSync(storage.keyFile, 'utf8').trim(),
      ...keys,
      `${words[3]}q`,
    ])
      expect(all).not.toContain(secret);
    for (const pair of pairs) expect(all).not.toMatch(pair);
  });

  it('on a terminal: words are shown once, and typed again with help', { timeout: 120_000 }, async () => {
    const file = join(home, 'my.roaming');
    const place = ['--data', storage.dataDirectory, '--key-file', storage.keyFile];
    const { code, shown } = await runOnTerminal(['identity', 'export', file, ...place], [], { cwd: home });
    expect(code).toBe(0);
    const words = /^wispr: {5}([a-z -]+)/m.exec(shown)?.[1]?.trim() ?? '';
    expect(words.split(' ')).toHaveLength(7);
    const [one = ''] = words.split(' ');
    const typed = words.replace(one, `${one.slice(0, -1)}${one.slice(-1) === 'q' ? 'z' : 'q'}`);
    const away = ['--data', join(home, 'away'), '--key-file', join(home, 'away.key')];
    const question = 'the seven words of the roaming file: ';
    const answers = [[question, `${typed}\r`], [question, `${words}\r`], ['connect news.example?', 'y\r']] as const; // biome-ignore format: one line
    const arrived = await runOnTerminal(['identity', 'import', file, ...reach, ...away], answers, { cwd: home });
    expect(arrived.shown).toMatch(/news\.example, of The Morning Paper {2}\(not proved: trusted by hand\)/);
    expect(arrived.shown).toContain('word 1');
    expect(arrived.shown).not.toContain(words); // what is typed does not show
    expect([arrived.code, arrived.shown]).toEqual([0, expect.stringContaining('can be read now: news.example')]);
    const again = await runOnTerminal(['identity', 'export', file, ...place], [], { cwd: home });
    expect(again.shown).toContain('the same words');
    expect(again.shown).not.toContain(words);
    const named = await runOnTerminal(['identity', 'export', file, '--words-file', 'words', ...place], [], {
      cwd: home,
    });
    expect([named.code, named.shown]).toEqual([0, expect.stringContaining('hint: words was not written')]);
    expect(existsSync(join(home, 'words'))).toBe(false);
  });
});

describe('a database that is made on a terminal, where there is no keyring', () => {
  const ASKED = 'choose a passphrase for your keys';

  it.each([
    ['pressing Enter', [[ASKED, '\r']], 'key-file'],
    [
      'a passphrase',
      [
        [ASKED, 'my own words\r'],
        ['the same again', 'my own words\r'],
      ],
      'passphrase',
    ],
  ] as const)('by %s is sealed with what was chosen', async (_, answers, kind) => {
    const [file, words] = [join(home, 'my.roaming'), join(home, 'words')];
    await good('export', file, '--words-file', words);
    const away = join(home, 'away');
    const args = ['identity', 'import', file, '--words-file', words, '--yes', ...reach];
    const { code, shown } = await runOnTerminal(args, answers, { cwd: home, env: env(away) });
    expect([code, shown]).toEqual([0, expect.stringContaining('your keys are sealed')]);
    expect(shown).not.toContain('my own words');
    const { stdout } = await run(['show', '--json'], away);
    expect(JSON.parse(stdout)).toMatchObject({ keysIn: kind, publishers: [{ sites: ['news.example'] }] });
    expect(existsSync(join(away, 'config'))).toBe(kind === 'key-file');
  });
});
