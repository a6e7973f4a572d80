import { hash } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { XWING_PUBLIC_KEY_LENGTH } from '#primitives';
import { freePort } from '../../cache-config/child.ts';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { forDevelopment, readConfig } from '../../keyserver/config/config.ts';
import { startKeyServer } from '../../keyserver/server.ts';
import { createMasterKey, readMasterKeys } from '../../keyserver/storage/master-key.ts';
import { storeOf } from '../../keyserver/storage/state.ts';
import { listen, logged, temporaryFolder, writeServerConfig } from '../support/keyserver-rig.ts';
import { startProgram } from '../support/programs.ts';
import { runWispr, startInProcess } from '../support/wispr.ts';

/** Number in the header of a reader's database. */
const READER_DATABASE = 0x77737072;

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => void vi.unstubAllEnvs());

const file = (name: string) => join(folder, name);

const writeConfiguration = (changes?: Record<string, unknown>) => writeServerConfig(folder, changes);

async function setUp(): Promise<void> {
  writeConfiguration();
  await (await start()).close();
}

const configuration = () => readConfig(file('keyserver.json'));
const start = () => startKeyServer(forDevelopment(configuration()), { log: logged().log });
const digestOf = (name: string) => hash('sha256', readFileSync(file(name)));

/** Insists on a refusal, and on a database and a master key that stay as they are. */
async function expectRefusal(code: string, message: RegExp, begin: () => Promise<unknown> = start): Promise<void> {
  const untouched = () =>
    ['keyserver.db', 'master.key'].map((name) => (existsSync(file(name)) ? digestOf(name) : 'none'));
  const before = untouched();
  await expect(begin()).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  expect(untouched()).toEqual(before);
}

describe('the first run', () => {
  it('writes configuration and keys, shows where they are, and stops for the operator to fill in', async () => {
    const { code, stdout, stderr } = await runWispr(['keyserver'], { cwd: folder });
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr.trimEnd().split('\n')).toHaveLength(5);
    expect(stderr).toContain(file('master.key'));
    expect(stderr).toContain('next: ');
    expect(readdirSync(folder).sort()).toEqual(['keyserver.db', 'keyserver.json', 'keyserver.pub', 'master.key']);
    for (const secret of ['master.key', 'keyserver.db']) expect(statSync(file(secret)).mode & 0o777).toBe(0o600);
    const publicKey = fromBase64url(readFileSync(file('keyserver.pub'), 'utf8').trimEnd());
    expect(publicKey).toHaveLength(XWING_PUBLIC_KEY_LENGTH);
  });

  it('writes where a site is fetched from, which a later run may repeat and not change', async () => {
    const run = (...places: string[]) =>
      runWispr(['keyserver', ...places.flatMap((place) => ['--fetch-from', place])], { cwd: folder });
    expect(await run('news.example')).toMatchObject({ code: 2, stderr: expect.stringContaining('is not SITE=URL') });
    expect(existsSync(file('keyserver.json'))).toBe(false);
    const fetchFrom = { 'news.example': 'http://127.0.0.1:8080', 'b.example': 'https://b.example' };
    const places = Object.entries(fetchFrom).map(([site, url]) => `${site}=${url}`);
    expect((await run(...places)).code).toBe(0);
    expect(configuration()).toMatchObject({ fetchFrom });
    expect((await run(...places)).stderr).not.toContain('is there already');
    const said = expect.stringContaining('is there already, without that place for b.example');
    expect(await run('b.example=http://127.0.0.1:1')).toMatchObject({ code: 2, stderr: said });
  });

  it('takes paths from the folder of the configuration, and nothing else for one', () => {
    const [tls, plans] = [{ certificate: 'a.pem', key: '/b.pem' }, { key: 'data' }];
    const written = {
      ...{ origin: 'https://k.example', listen, tls, data: 'keyserver.db', publicKey: '../k.pub' },
      masterKey: { environment: 'key' },
      reading: { origin: 'https://r.example', listen, tls, documents: { origin: 'https://d.example', listen, tls } },
      publication: { push: ['web', 's3://bucket/web'] },
      stripe: { secretFile: 'stripe', plans },
    };
    writeFileSync(file('paths.json'), JSON.stringify(written));
    const [here, resolved] = [file('.'), { certificate: file('a.pem'), key: '/b.pem' }];
    expect(readConfig(file('paths.json'))).toMatchObject({
      ...{ tls: resolved, data: file('keyserver.db'), publicKey: join(here, '../k.pub') },
      masterKey: { environment: 'key' },
      reading: { tls: resolved, documents: { tls: resolved } },
      publication: { push: [file('web'), 's3://bucket/web'] },
      stripe: { secretFile: file('stripe'), plans },
    });
  });

  it('attack 66: makes a master key beside the half of one that a killed run of the same process id left', async () => {
    const halves = [`master.key.${process.pid}.new`, 'master.key.new', 'master.key.new-0123abcd'];
    for (const name of halves) writeFileSync(file(name), 'half');
    createMasterKey(file('master.key'));
    expect((await readMasterKeys(file('master.key'))).size).toBe(1);
    expect(readdirSync(folder).sort()).toEqual(['master.key', ...halves].sort());
  });

  it('writes no second configuration beside a key server, for a misspelt name', async () => {
    await runWispr(['keyserver'], { cwd: folder });
    const before = readdirSync(folder);
    for (const missing of ['keyserver.jsn', 'keyserver.json']) {
      const { code, stdout, stderr } = await runWispr(['keyserver', '-c', missing], { cwd: folder });
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('[configuration-missing]');
      expect(readdirSync(folder)).toEqual(before.filter((name) => existsSync(file(name))));
      rmSync(file('keyserver.json'), { force: true }); // the database alone says as much
    }
  });
});

it('a key server that waits for its database reads certificates again by SIGHUP, and ends well by SIGTERM', async () => {
  const port = await freePort();
  const [listen, database] = [{ host: '127.0.0.1', port }, `postgres:///none?host=${folder}`];
  writeConfiguration({ listen, database, data: undefined });
  const server = startProgram('bin/wispr.js', ['keyserver', '--dev'], { cwd: folder });
  const health = async () => (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined))?.status;
  await expect.poll(health).toBe(503);
  process.kill(server.pid, 'SIGHUP');
  expect(await health()).toBe(503);
  expect(await server.stop('SIGTERM')).toMatchObject({ code: 0 });
});

describe('where it listens', () => {
  const started = async (args: string[]) => {
    const server = await startInProcess(args, { cwd: folder });
    expect((await server.stop()).code).toBe(0);
    expect(readdirSync(folder).filter((name) => name.includes('-wal') || name.includes('.new'))).toEqual([]);
    return server.stderr();
  };

  it('is said, with a warning where an origin leads to another port', async () => {
    writeConfiguration({ origin: 'http://127.0.0.1:9' });
    const said = await started(['keyserver', '--dev']);
    expect(said).toContain('plain HTTP, on this machine only');
    expect(said).toMatch(/wispr: key server: http:\/\/127\.0\.0\.1:9, listening on 127\.0\.0\.1:\d{4,5}\n/);
    expect(said).toMatch(/wispr: readers come to port 9 of http:\/\/127\.0\.0\.1:9, .*\nwispr: hint: .*port 9 to \d/);
    expect(said).toMatch(/reading site: http:\/\/127\.0\.0\.1:(\d+), listening on 127\.0\.0\.1:\1\n/);
    expect(said.match(/readers come/g)).toHaveLength(1);
  });

  it('is said without a warning behind a proxy, which has the port of the origin', async () => {
    const listen = { host: '::1', port: 0 };
    const documents = { origin: 'https://pages.news.example', listen };
    const reading = { origin: 'https://read.news.example', listen, documents };
    writeConfiguration({ origin: 'https://keys.news.example', listen, reading, trustedProxies: ['127.0.0.1'] });
    const said = await started(['keyserver']);
    expect(said).toMatch(/key server: https:\/\/keys\.news\.example, listening on \[::1\]:\d+\n/);
    expect(said).not.toContain('readers come');
  });
});

describe('the way from the certificate error', () => {
  it('leads to a server on loopback, whatever hosts the file says', async () => {
    await runWispr(['keyserver'], { cwd: folder });
    const made = ['keyserver.json', 'master.key', 'keyserver.pub'];
    const before = made.map(digestOf);
    const refused = await runWispr(['keyserver'], { cwd: folder });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--dev')]);
    expect(made.map(digestOf)).toEqual(before);
    const text = readFileSync(file('keyserver.json'), 'utf8');
    expect(text.match(/"0\.0\.0\.0"/g)).toHaveLength(4);
    writeFileSync(file('keyserver.json'), text.replaceAll(/"port": 844\d/g, '"port": 0'));
    const server = await start();
    for (const url of [server.url, server.readingUrl, server.documentsUrl])
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await server.close();
  });

  it.each(['127.0.0.2', 'localhost', '::1'])('keeps %s, which is loopback', (host) => {
    writeConfiguration({ listen: { host, port: 1 } });
    expect(forDevelopment(configuration()).listen).toEqual({ host, port: 1 });
  });

  it.each(['::', '192.0.2.1', 'localhost.example'])('replaces %s, which is not', (host) => {
    writeConfiguration({ reading: { listen: { host, port: 1 }, documents: { listen: { host, port: 2 } } } });
    const { reading } = forDevelopment(configuration());
    expect(reading.listen).toEqual({ host: '127.0.0.1', port: 1 });
    expect(reading.documents.listen).toEqual({ host: '127.0.0.1', port: 2 });
  });
});

it('the environment takes the place of the file, member by member', () => {
  writeConfiguration({ masterKey: 'a.key' });
  const variables = {
    LISTEN__PORT: '8450',
    LISTEN__HOST: '::1',
    MASTER_KEY: '{"environment":"KEY"}',
    READING__DOCUMENTS__IN_BROWSER: 'false',
    TRUSTED_PROXIES: '["10.0.0.0/8"]',
    PUBLIC_KEY: '77',
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(`WISPR_KEYSERVER_${name}`, value);
  expect(configuration()).toMatchObject({
    ...{ listen: { host: '::1', port: 8450 }, trustedProxies: ['10.0.0.0/8'] },
    ...{ masterKey: { environment: 'KEY' }, publicKey: file('77') },
    reading: { documents: { inBrowser: false } },
  });
});

describe('the key server refuses to start', () => {
  it('for development on another address than loopback, where a program asks for it', async () => {
    writeConfiguration({ listen: { host: '0.0.0.0', port: 0 } });
    const started = () => startKeyServer({ ...configuration(), dev: true });
    await expectRefusal('configuration-invalid', /--dev listens on loopback only/, started);
  });

  it('on plain HTTP without --dev, or behind a proxy without an https origin', async () => {
    const started = () => startKeyServer(configuration());
    writeConfiguration({ origin: 'https://keys.news.example' });
    await expectRefusal('configuration-invalid', /plain HTTP is refused/, started);
    writeConfiguration({ trustedProxies: ['127.0.0.1'] });
    await expectRefusal('configuration-invalid', /no https "origin" is configured/, started);
  });

  it.each([
    ...['https://keys.news.example/a/', 'http://keys.news.example/a', 'keys.news.example', 'http:///a/'].map(
      (url) => [url, { httpcrypt: { url, listen } }, /"httpcrypt.url" must be an http address/] as const,
    ),
    ...['https://keys.news.example/x', 'http://keys.news.example', 'keys.news.example', 'https://'].map(
      (origin) => [origin, { origin }, /line 1: "origin" must be an https origin/] as const,
    ),
    ...['localhost', '10.0.0.0/33', '10.0.0.0/8/8', '::/129', '10.0.0', 'proxy.example', '/8', '10.0.0.1/'].map(
      (proxy) =>
        [proxy, { trustedProxies: [proxy] }, /line 1: "trustedProxies\[0\]" must be an address or a network/] as const,
    ),
  ])('with %s in %o', async (_, changes, message) => {
    writeConfiguration(changes);
    await expectRefusal('configuration-invalid', message, async () => start());
  });

  it('and says everything that is wrong at once', async () => {
    const settings = { origin: 'https://keys.news.example', listen, tls: { certificate: 'no.crt', key: 'no.key' } };
    writeConfiguration({ ...settings, reading: { listen, documents: { listen } } });
    const started = () => startKeyServer(configuration());
    await expectRefusal('configuration-invalid', /no\.crt\n.*plain HTTP is refused/, started);
  });

  it.each(['read.news.example', 'keys.news.example'])(
    'attack 96: with documents on %s, where accounts or keys are',
    async (host) => {
      const documents = { origin: `https://${host}:8445`, listen };
      const reading = { origin: 'https://read.news.example', listen, documents };
      writeConfiguration({ origin: 'https://keys.news.example', reading });
      const started = async () => void configuration();
      await expectRefusal('configuration-invalid', /must be on another host/, started);
    },
  );

  it.each([{ data: 'none/keyserver.db' }, { masterKey: 'none/master.key' }, { publicKey: 'none/keyserver.pub' }])(
    'where the directory of a file that it makes is missing: %o',
    async (changes) => {
      writeConfiguration(changes);
      const message = expect.stringMatching(/^cannot write .*: there is no directory .*none: make it first$/);
      await expect(start()).rejects.toMatchObject({ code: 'configuration-invalid', message });
    },
  );

  it('on a port in use', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    await setUp();
    const used = { listen: { ...listen, port } };
    for (const [member, changes] of Object.entries({
      'reading.documents.listen': { reading: { listen, documents: used } },
      'httpcrypt.listen': { httpcrypt: { url: 'http://127.0.0.1/a/', ...used } },
      listen: used,
      'reading.listen': { reading: { ...used, documents: { listen } } },
    })) {
      writeConfiguration(changes);
      await expect(start()).rejects.toMatchObject({ fields: { member } });
    }
    await expectRefusal('listen-failed', new RegExp(`127.0.0.1:${port}: the port is in use`));
    taken.close();
  });

  it.each([
    ['{ "listen": ', /keyserver\.json, line 1: /],
    ['{}', /line 1: "listen" is missing/],
    ['[]', /keyserver\.json, line 1: an object/],
    ['{ "listne": {} }', /line 1: there is no member "listne"; did you mean listen\?/],
    [
      '{\n"reading": { "listne": {} } }',
      /line 2: "reading" has no member "listne"; did you mean listen\?\n.*line 1: "listen" is missing\n.*line 2: "reading.listen" is missing\n/,
    ],
  ])('with the configuration %s', async (text, message) => {
    writeFileSync(file('keyserver.json'), text);
    await expectRefusal('configuration-invalid', message, async () => start());
  });

  it('with variables of the environment that name no member, or give a wrong value', async () => {
    writeConfiguration({ listne: 1 });
    vi.stubEnv('WISPR_KEYSERVER_LISTEN__PORT', '70000');
    vi.stubEnv('WISPR_KEYSERVER_LISTEN__PROT', '1');
    const all =
      /^WISPR_KEYSERVER_LISTEN__PROT: names no member .*\n.*line 1: .*"listne".*\nWISPR_KEYSERVER_LISTEN__PORT: "listen.port" must be at most 65535$/;
    await expectRefusal('configuration-invalid', all, async () => start());
  });

  it('attack 51: when the master key is missing', async () => {
    await setUp();
    rmSync(file('master.key'));
    await expectRefusal('storage-key-refused', /the master key is not at .*master\.key/);
  });

  it('when the database is missing though its master key is there', async () => {
    await setUp();
    for (const name of ['keyserver.db', 'keyserver.db-wal', 'keyserver.db-shm']) rmSync(file(name), { force: true });
    await expectRefusal('store-unusable', /there is no database at .*keyserver\.db/);
    rmSync(file('master.key'));
    await (await start()).close();
  });

  it('attack 51: when the master key is another one', async () => {
    await setUp();
    const right = readFileSync(file('master.key'), 'utf8');
    writeFileSync(file('master.key'), `wispr-master-key/1\n1 ${'A'.repeat(43)}\n`);
    await expectRefusal('storage-key-refused', /is not the master key of this database/);
    writeFileSync(file('master.key'), right);
    await (await start()).close();
  });

  it('attack 51: when the master key file is damaged, or readable by others', async () => {
    await setUp();
    const right = readFileSync(file('master.key'), 'utf8');
    for (const text of ['', 'wispr-master-key/2\n', right.slice(0, -3), `${right}1 ${'A'.repeat(43)}\n`]) {
      writeFileSync(file('master.key'), text);
      await expectRefusal('storage-key-refused', /is not a master key file/);
    }
    writeFileSync(file('master.key'), right);
    chmodSync(file('master.key'), 0o644);
    await expectRefusal('storage-key-refused', /other users of this machine may read the master key/);
  });

  it('attack 68: when the database is no database, damaged, or cut short', async () => {
    await setUp();
    const bytes = readFileSync(file('keyserver.db'));
    const damages = [
      Buffer.from('not a database, but long enough to be looked at '.repeat(100)),
      Buffer.from(bytes).fill(0xa5, 4096, bytes.length),
      bytes.subarray(0, bytes.length / 2),
    ];
    for (const damaged of damages) {
      writeFileSync(file('keyserver.db'), damaged);
      await expectRefusal('store-unusable', /the database .* is damaged/);
    }
  });

  it('attack 68: when the database is of another program', async () => {
    await setUp();
    for (const other of [7, READER_DATABASE]) {
      change(`PRAGMA user_version = 1; PRAGMA application_id = ${other}`);
      await expectRefusal('store-unusable', /is a database of another program/);
    }
  });

  it('calls a database that another program holds busy, which is no reason to restore a copy', async () => {
    await setUp();
    const [holder, other] = [1, 2].map(() => new DatabaseSync(file('keyserver.db'), { timeout: 0 }));
    holder?.exec('BEGIN IMMEDIATE');
    const store = await storeOf(forDevelopment(configuration()));
    const begin = async () => other?.exec('BEGIN IMMEDIATE');
    const refused = await begin().catch((error) => store.explain(error));
    expect(refused).toMatchObject({ code: 'store-busy', remedy: expect.stringContaining('keyserver.db') });
    for (const each of [holder, other]) each?.close();
  });

  function change(sql: string): void {
    const database = new DatabaseSync(file('keyserver.db'));
    database.exec(sql);
    database.close();
  }
});

it('an OpenID provider that cannot be used is said at the start, with the reason', async () => {
  writeFileSync(file('client.secret'), 'x', { mode: 0o600 });
  const openid = { issuer: 'http://127.0.0.1:9', clientId: 'a', clientSecretFile: 'client.secret', title: 'School' };
  writeConfiguration({ openid });
  const { log, text } = logged();
  const server = await startKeyServer(forDevelopment(configuration()), { log });
  await vi.waitFor(() =>
    expect(text()).toMatch(/"code":"openid-unreachable","reason":"the OpenID provider .* does not answer: /),
  );
  await server.close();
});

it('a plan that the configuration names and that there is not is said once for each, with what makes it, and keeps no reader out', async () => {
  writeFileSync(file('stripe.secret'), 'whsec_a-secret-of-this-test', { mode: 0o600 });
  writeConfiguration({
    mail: { smtp: 'smtp://127.0.0.1:9', from: 'News <news@example.org>' },
    stripe: { secretFile: 'stripe.secret', plans: { price_1: 'daily', price_2: 'library' } },
  });
  const warnings = async () => {
    const { log, text } = logged();
    await (await startKeyServer(forDevelopment(configuration()), { log })).close();
    const lines = text().trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line)).filter(({ level, plan }) => level >= 40 && plan !== undefined);
  };
  const first = await warnings();
  expect(first.map(({ member }) => member)).toEqual(['stripe.plans.price_1', 'stripe.plans.price_2']);
  const todo = 'make it with "wispr admin plan daily --sets PATTERNS", or correct stripe.plans.price_1';
  expect(first[0].msg).toContain(todo);
  expect(await runWispr(['admin', 'plan', 'daily', '--sets', '*'], { cwd: folder })).toMatchObject({ code: 0 });
  expect((await warnings()).map(({ plan }) => plan)).toEqual(['library']);
});

describe('on the command line, a refusal', () => {
  it('attack 67: of a configuration that cannot be written leaves nothing behind', async () => {
    writeFileSync(file('a-file'), '');
    const { code, stderr } = await runWispr(['keyserver', '-c', file('a-file/keyserver.json')], { cwd: folder });
    expect(code).toBe(1);
    expect(stderr).toContain('[configuration-invalid]');
    expect(readdirSync(folder)).toEqual(['a-file']);
  });
});
