/** Matters of PostgreSQL alone: addresses, passwords, other programs' databases, and a server that goes away. */
import { chmodSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import type { KeyServerConfig } from '../../keyserver/config/config.ts';
import { postgresUrlFault } from '../../keyserver/config/schema.ts';
import { overview } from '../../keyserver/operations/overview.ts';
import { inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { startKeyServer } from '../../keyserver/server.ts';
import { openState } from '../../keyserver/storage/state.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { makeCertificate } from '../support/certificates.ts';
import { configIn, logged, temporaryFolder } from '../support/keyserver-rig.ts';
import { GUARDED, newPostgresUrl } from '../support/postgres.ts';
import { startCluster } from '../support/postgres-cluster.ts';
import { runWispr, startInProcess } from '../support/wispr.ts';

let folder: string;
let url: string;
let config: KeyServerConfig;
beforeEach(async () => {
  folder = temporaryFolder();
  url = await newPostgresUrl();
  config = { ...configIn(folder), data: undefined, database: url };
});

/** Asks as another program. */
async function asked(sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Insists on a refusal, by the start and by the commands, and that nothing is made for it. */
async function expectRefusal(code: string, message: RegExp): Promise<void> {
  const [files, tables] = [readdirSync(folder), await asked('SELECT relname FROM pg_class ORDER BY 1')];
  const refusal = { code, message: expect.stringMatching(message) };
  await expect(openState(config)).rejects.toMatchObject(refusal);
  expect([readdirSync(folder), await asked('SELECT relname FROM pg_class ORDER BY 1')]).toEqual([files, tables]);
}

describe('the first run with --database', () => {
  it('writes it into the configuration, and has no database file; commands find it there', async () => {
    const first = await runWispr(['keyserver', '--database', url], { cwd: folder });
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining(url)]);
    expect(readdirSync(folder).sort()).toEqual(['keyserver.json', 'keyserver.pub', 'master.key']);
    const file = join(folder, 'keyserver.json');
    const written = readFileSync(file, 'utf8');
    expect(written).toContain(`"database": ${JSON.stringify(url)}`);
    writeFileSync(file, written.replaceAll(/"port": \d+/g, '"port": 0')); // configured ports may be taken
    const server = await startInProcess(['keyserver', '--dev', '--database', url], { cwd: folder });
    const invited = await runWispr(['invite', 'ada'], { cwd: folder });
    expect(invited.stdout).toMatch(/^http\S+\/-\/join#/m);
    await server.stop();
    const other = await runWispr(['keyserver', '--database', await newPostgresUrl()], { cwd: folder });
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('another database')]);
  });

  it('of two at once, both serve the same key', async () => {
    const states = await Promise.all([1, 2, 3].map(() => openState(config)));
    const keys = states.map(({ recipient }) => Buffer.from(recipient.publicKey).toString('hex'));
    expect(new Set(keys).size).toBe(1);
    await Promise.all(states.map(({ database }) => database.close()));
  });
});

describe('a password', () => {
  const guarded = () => url.replace('user=wispr', `user=${GUARDED.user}`);
  const withPassword = () => url.replace('postgres:///', 'postgres://guarded:secret@localhost/');

  it('in the address is refused, and not repeated', async () => {
    expect(postgresUrlFault(url)).toBeUndefined();
    for (const bad of [withPassword(), `${url}&password=secret`, 'mysql://host/name', 'postgres:name', `${url}#x`])
      expect(postgresUrlFault(bad)).toContain('without a password');
    const typed = await runWispr(['keyserver', '--database', withPassword()], { cwd: folder });
    const written = JSON.stringify({ ...config, dev: undefined, database: withPassword() });
    writeFileSync(join(folder, 'keyserver.json'), written);
    const configured = await runWispr(['keyserver'], { cwd: folder });
    expect([typed.code, configured.code]).toEqual([2, 1]);
    for (const { stdout, stderr } of [typed, configured]) {
      expect(stdout).toBe('');
      expect(stderr).toMatch(/PGPASSWORD or ~\/\.pgpass/);
      expect(stderr).not.toContain('secret');
    }
  });

  it('comes from PGPASSWORD or a file of passwords, and is in no message', async () => {
    const file = join(folder, 'passwords');
    const escaped = GUARDED.password.replace(/[:\\]/g, '\\$&');
    const text = `# passwords\n*:*:*:other:x\n*:*:test\\_*:${GUARDED.user}:x\n*:5432:*:${GUARDED.user}:${escaped}\n`;
    writeFileSync(file, text, { mode: 0o600 });
    const { PGPASSWORD: _, ...env } = process.env;
    const run = (args: string[], more: NodeJS.ProcessEnv) => runWispr(args, { cwd: folder, env: { ...env, ...more } });
    const first = await run(['keyserver', '--database', guarded()], { PGPASSWORD: GUARDED.password });
    expect([first.code, `${first.stdout}${first.stderr}`]).toEqual([0, expect.not.stringContaining(GUARDED.password)]);
    expect((await run(['admin', 'list'], { PGPASSFILE: file })).code).toBe(0);
    for (const wrong of [{ PGPASSWORD: 'wrong password' }, { PGPASSFILE: join(folder, 'none') }]) {
      const { code, stdout, stderr } = await run(['admin', 'list'], wrong);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^wispr: the database postgres:\/\/\/test_\w+ cannot be used: .*password.*\n/);
      expect(stderr).not.toContain('wrong password');
    }
    chmodSync(file, 0o644);
    const open = await run(['admin', 'list'], { PGPASSFILE: file });
    expect([open.code, open.stderr]).toEqual([1, expect.stringContaining('other users of this machine')]);
  });
});

describe('the key server does not start', () => {
  it('a start is refused for an unknown host, a missing database or a wrong password', async () => {
    const bad = [
      url.replace(/test_\d+/, 'none'),
      url.replace('user=wispr', `user=${GUARDED.user}`),
      'postgres://wispr@no-such-host.invalid/none',
    ];
    for (const database of bad) {
      const started = startKeyServer({ ...config, database }, { log: logged().log });
      await expect(started).rejects.toMatchObject({ code: 'store-unusable' });
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  it('attack 68: at a database of another program', async () => {
    await asked('CREATE TABLE accounts (id BIGINT)');
    await expectRefusal('store-unusable', /is a database of another program/);
  });

  it('attack 51: at an empty database where there is a master key, or with another master key', async () => {
    await (await openState(config)).database.close();
    const file = String(config.masterKey);
    const [full, key] = [config, readFileSync(file, 'utf8')];
    url = await newPostgresUrl();
    config = { ...config, database: url };
    await expectRefusal('store-unusable', /there is no database at .*, but its master key is at/);
    await expect(withState(config, overview)).rejects.toMatchObject({ code: 'store-unusable' });
    config = full;
    url = full.database ?? '';
    const flipped = key.at(-5) === 'A' ? 'B' : 'A';
    writeFileSync(file, `${key.slice(0, -5)}${flipped}${key.slice(-4)}`);
    await expectRefusal('storage-key-refused', /is not the master key of this database/);
  });
});

describe('while no PostgreSQL is there', () => {
  it('commands are refused, and nothing is made', async () => {
    const away = { ...config, database: `postgres:///none?host=${folder}` };
    const refusal = { code: 'database-away', message: expect.stringMatching(/postgres:\/\/\/none does not answer: /) };
    await expect(openState(away)).rejects.toMatchObject(refusal);
    await expect(withState(away, overview)).rejects.toMatchObject(refusal);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('the key server listens, is not healthy, says so once, and serves when it comes', async () => {
    const port = await freePort();
    const socket = '.s.PGSQL.5432';
    const directory = new URL(url).searchParams.get('host') ?? '';
    const { log, text } = logged();
    const database = url.replace(encodeURIComponent(directory), encodeURIComponent(folder));
    const starting = startKeyServer({ ...config, database, listen: { host: '127.0.0.1', port } }, { log });
    const answer = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
      return response && `${response.status} ${await response.text()}`;
    };
    const answers = () => Promise.all(['/healthz', '/readyz', '/.well-known/wispr-provider'].map(answer));
    const problem = '503 {"problems":["database"]}';
    await expect.poll(answers).toEqual([problem, problem, '503 {"error":"database-away"}']);
    symlinkSync(join(directory, socket), join(folder, socket));
    const server = await starting;
    expect(await answers()).toEqual(['200 {"problems":[]}', '200 {"problems":[]}', '404 {"error":"no-provider"}']);
    await server.close();
    expect(text().match(/database-away/g)).toHaveLength(1);
  });
});

it('refuses another machine without verified TLS, however the address names it (attack 143)', async () => {
  const far = (...queries: string[]) => queries.map((query) => `postgres://wispr@db.news.example/wispr${query}`);
  const local = ['localhost', '127.0.0.1', '[::1]', '%2Frun%2Fpostgresql', 'db.news.example'].map(
    (host, index, { length }) => `postgres://${host}/wispr${index === length - 1 ? '?host=/run/postgresql' : ''}`,
  );
  const refused = [
    ...far('', '?sslmode=require', '?sslmode=verify-full&sslmode=disable', '?sslmode=verify-ca&uselibpqcompat=true'),
    'postgres:///wispr?host=db.news.example',
    'postgres://localhost/wispr?host=10.0.0.7',
    'postgres:///wispr?host=/run/postgresql&host=db.news.example',
  ];
  for (const url of [...local, ...far('?sslmode=verify-full')]) expect(postgresUrlFault(url)).toBeUndefined();
  for (const url of refused) expect(postgresUrlFault(url), url).toContain('sslmode=verify-full');
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('PGHOST', 'db.news.example');
  expect(postgresUrlFault('postgres:///wispr')).toContain('sslmode=verify-full');
  const run = await runWispr(['keyserver', '--database', refused[0] as string], { cwd: folder });
  expect([run.code, run.stderr]).toEqual([2, expect.stringContaining('sslmode=verify-full')]);
});

it('TLS is as the address says: verify-full takes no other authority and no other name', async () => {
  const { key, cert, caFile } = await makeCertificate(folder, ['DNS:localhost']);
  const port = await freePort();
  const rules = ['hostssl all all 127.0.0.1/32 trust'];
  const cluster = await startCluster({ durable: false, rules, tls: { port, key, cert } });
  onTestFinished(() => cluster.close());
  const at = (place: string) => openState({ ...config, database: `postgres://wispr@${place}` });
  const [plain, verified] = [`${port}/postgres`, `${port}/postgres?sslmode=verify-full`];
  const places = [plain, `${plain}?sslmode=disable`, verified].map((rest) => `localhost:${rest}`);
  for (const place of [...places, `127.0.0.1:${verified}&sslrootcert=${caFile}`])
    await expect(at(place)).rejects.toMatchObject({ code: 'store-unusable' });
  const state = await at(`localhost:${verified}&sslrootcert=${caFile}`);
  const encrypted = await state.database.first('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
  expect(encrypted).toEqual({ ssl: true });
  await state.database.close();
});

it('a connection that is cut ends neither the key server nor what it has stored', async () => {
  const { log, text: said } = logged();
  const server = await startKeyServer(config, { log });
  await inviteSubscriber(server.state, { name: 'ada' });
  const begun = server.state.database.transaction(async () => {
    await server.state.database.run("INSERT INTO settings (name, value) VALUES ('cut', '')");
    await asked(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE pid <> pg_backend_pid() AND application_name = 'wispr' AND datname = current_database()`);
    await server.state.database.run("INSERT INTO settings (name, value) VALUES ('after', '')");
  });
  await expect(begun).rejects.toThrow();
  await expect.poll(async () => (await fetch(`${server.url}/.well-known/wispr-provider`)).status).toBe(404);
  await inviteSubscriber(server.state, { name: 'ben' });
  expect((await overview(server.state)).subscribers.map(({ name }) => name)).toEqual(['ada', 'ben']);
  expect(await asked("SELECT name FROM settings WHERE name IN ('cut', 'after')")).toEqual([]);
  await server.close();
  expect(said()).not.toMatch(/INSERT|SELECT/);
});
