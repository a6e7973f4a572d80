/** `wispr doctor` of a publisher and of a key server, which are real, in order and out of order. */
import { copyFileSync, cpSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import { forDevelopment, readConfig } from '../../keyserver/config/config.ts';
import { createToken, revokeToken } from '../../keyserver/publication/tokens.ts';
import { type RunningKeyServer, startKeyServer } from '../../keyserver/server.ts';
import type { Diagnosis } from '../../node-support/doctor/diagnosis.ts';
import { makeCertificate, type TestCertificate } from '../support/certificates.ts';
import { type ContentHost, closeServer, listenOnLoopback, startContentHost } from '../support/content-host.ts';
import { logged, temporaryFolder, writeConfigAt } from '../support/keyserver-rig.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { Publishing } from '../support/publishing.ts';
import { runWispr } from '../support/wispr.ts';
import { createWorkspace, type TestWorkspace } from '../support/workspace.ts';

const MAIL_PASSWORD = 'password of the mail server';
const folder = temporaryFolder();
let server: RunningKeyServer;
let ports: readonly number[];
let host: ContentHost;
let mail: MailServer;
let made: TestWorkspace;
let the: Publishing;
let token: string;
let certificate: TestCertificate;

const web = () => join(made.directory, 'web');
const configureServer = (changes: object = {}) => {
  const [keys, reading] = ports.map((port) => `http://127.0.0.1:${port}`);
  writeConfigAt(folder, ports, { origin: keys, publication: { push: [web()] }, fetchFrom: { localhost: host.origin } });
  const config = JSON.parse(readFileSync(join(folder, 'keyserver.json'), 'utf8'));
  const common = { ...config, reading: { ...config.reading, origin: reading } };
  const smtp = {
    smtp: `smtp://news@127.0.0.1:${mail.port}`,
    from: 'News <news@example.org>',
    passwordFile: 'mail.secret',
  };
  writeFileSync(join(folder, 'keyserver.json'), JSON.stringify({ ...common, mail: smtp, ...changes }));
};
const giveToken = (text: string) => writeFileSync(join(made.directory, 'token'), text, { mode: 0o600 });

/** The diagnoses by what was looked at, and the exit code. */
async function examined(config: string, options: Parameters<typeof runWispr>[1] = {}) {
  const { code, stdout, stderr } = await runWispr(['doctor', '-c', config, '--json'], options);
  expect(stderr).toBe('');
  const { versions, publisher, keyServer } = JSON.parse(stdout) as Record<string, Diagnosis[]>;
  const all = [...(versions ?? []), ...(publisher ?? []), ...(keyServer ?? [])];
  const bad = Object.fromEntries(all.filter(({ status }) => status !== 'ok').map((one) => [one.check, one]));
  return { code, checks: all.map(({ check }) => check), bad };
}

beforeAll(async () => {
  ports = await Promise.all([freePort(), freePort()]);
  host = await startContentHost();
  mail = await startMailServer({
    disabledCommands: ['STARTTLS'],
    onAuth: ({ password }, _, done) =>
      password === MAIL_PASSWORD ? done(null, { user: 'news' }) : done(new Error('no')),
  });
  writeFileSync(join(folder, 'mail.secret'), MAIL_PASSWORD, { mode: 0o600 });
  made = await createWorkspace({ 'a.html': '<!doctype html><title>A page</title><p data-wispr-excerpt>A.</p>' });
  configureServer();
  const config = forDevelopment(readConfig(join(folder, 'keyserver.json')));
  server = await startKeyServer(config, { log: logged().log });
  ({ token } = await createToken(server.state, 'publisher', 365));
  giveToken(token);
  copyFileSync(config.publicKey, join(made.directory, 'keyserver.pub'));
  const publishing = { publish: 'web', keyServerTokenFile: 'token', timestampBy: 'keyserver' } as const;
  const origins = { keyServer: server.url, reading: server.readingUrl, content: host.origin };
  await made.configure({ ...origins, ...publishing, site: 'localhost' });
  the = new Publishing(made);
  host.handlers.set('*', ({ url = '' }, response) => {
    const file = join(web(), url);
    if (statSync(file, { throwIfNoEntry: false })?.isFile()) response.end(readFileSync(file));
    else response.writeHead(404).end();
  });
  await the.publish();
  await server.keeper.idle();
  certificate = await makeCertificate(folder, ['DNS:localhost']);
});
afterAll(async () => {
  await server?.close();
  await Promise.all([host?.close(), mail?.close(), made?.remove()]);
});
beforeEach(() => {
  configureServer();
  giveToken(token);
});

/** A token that ends soon, for the test that runs. */
async function shortToken(): Promise<string> {
  const { name, token: text } = await createToken(server.state, 'short', 3);
  onTestFinished(() => revokeToken(server.state, name));
  return text;
}

it('finds nothing where all is in order, and leaves nothing behind', async () => {
  const before = readdirSync(web()).sort();
  const { code, checks, bad } = await examined(made.configurationFile);
  expect([code, bad]).toEqual([0, {}]);
  expect(checks).toEqual([
    'versions',
    'clock',
    `disk of ${made.directory}`,
    'name localhost',
    `key server ${server.url}`,
    'token',
    'target web',
    ...['web', host.origin, server.url].map((place) => `publication at ${place}`),
  ]);
  expect(readdirSync(web()).sort()).toEqual(before);
});

it('names what is wrong at the publisher, each with what to do, and goes on with the rest', async () => {
  const mirror = `${made.directory}-mirror`;
  cpSync(web(), mirror, { recursive: true });
  await made.write('b.html', '<!doctype html><title>Another</title>');
  await the.publish();
  giveToken(await shortToken());
  await made.configure({ publish: ['web', mirror, 'gone', 's3://key:secret@x'] });
  const { code, bad } = await examined(made.directory);
  expect(code).toBe(3);
  expect(bad).toEqual({
    token: expect.objectContaining({ status: 'warning', remedy: expect.stringContaining('wispr admin token') }),
    'target gone': expect.objectContaining({ says: 'there is no such directory' }),
    'target …@x': expect.objectContaining({ status: 'problem' }),
    'publication at gone': expect.objectContaining({ status: 'problem' }),
    'publication at …@x': expect.objectContaining({ status: 'problem' }),
    [`publication at ${mirror}`]: expect.objectContaining({ says: 'shows 1, and the newest is 2' }),
  });
  expect(JSON.stringify(bad)).not.toContain('secret');
  giveToken('wispr-publish-0123456789');
  renameSync(web(), `${web()}-away`);
  const { stdout } = await runWispr(['doctor', '-q'], { cwd: made.directory });
  renameSync(`${web()}-away`, web());
  await made.configure({ publish: 'web' });
  expect(stdout).toMatch(/^problem: token: .*\(token-refused\).*\n {2}hint: /m);
  expect(stdout).toMatch(/^problem: target web: there is no such directory\n {2}hint: mount it/m);
  expect(stdout).not.toMatch(/^ok/m);
  expect(stdout).not.toContain('0123456789');
});

it('compares no place where nothing tells whose publication it is', async () => {
  const out = join(made.directory, 'protected');
  renameSync(out, `${out}-away`);
  const { code, bad, checks } = await examined(made.configurationFile);
  renameSync(`${out}-away`, out);
  expect(code).toBe(3);
  expect(bad.publication).toMatchObject({ status: 'warning', remedy: expect.stringContaining('wispr publish') });
  expect(checks.filter((check) => check.startsWith('publication at'))).toEqual([]);
});

it('looks at a key server: backups, tokens, mail, mirrors, and what it needs', async () => {
  await shortToken();
  const first = await examined(folder);
  expect(first.bad).toEqual({
    backup: expect.objectContaining({ status: 'warning', says: 'none was made yet' }),
    'token short': expect.objectContaining({ status: 'warning' }),
  });
  expect((await runWispr(['admin', 'backup', 'copy.db'], { cwd: folder })).code).toBe(0);
  const { bad, checks } = await examined(folder);
  expect(Object.keys(bad)).toEqual(['token short']);
  expect(checks).toEqual(
    expect.arrayContaining([
      'clock',
      'backup',
      'token publisher',
      `mail by 127.0.0.1:${mail.port}`,
      `push to ${web()}`,
    ]),
  );
  expect(checks).toContain(`publication at ${host.origin}`);
});

it('says so where the mail server, the content host or the database is wrong, and looks at all the others', async () => {
  writeFileSync(join(folder, 'other.secret'), 'wrong', { mode: 0o600 });
  const smtp = `smtp://news@127.0.0.1:${mail.port}`;
  const from = 'News <news@example.org>';
  configureServer({
    mail: { smtp, from, passwordFile: 'other.secret' },
    openid: { issuer: 'http://127.0.0.1:9', clientId: 'a', clientSecretFile: 'other.secret', title: 'School' },
    fetchFrom: { localhost: 'http://127.0.0.1:9' },
  });
  const wrong = await examined(folder);
  const expected = [
    'clock',
    `mail by 127.0.0.1:${mail.port}`,
    'sign-in at 127.0.0.1:9',
    'publication at http://127.0.0.1:9',
  ];
  expect(Object.keys(wrong.bad)).toEqual(expect.arrayContaining(expected));
  configureServer({ masterKey: 'none.key' });
  const { bad, checks } = await examined(folder);
  expect(bad).toEqual({ database: expect.objectContaining({ remedy: expect.stringContaining('chmod 600') }) });
  expect(checks).toContain(`mail by 127.0.0.1:${mail.port}`);
  writeFileSync(join(folder, 'keyserver.json'), '{}');
  expect(Object.keys((await examined(folder)).bad)).toEqual(['configuration']);
});

it('tells when certificates end, of files and of what answers, and which ones nobody vouches for', async () => {
  const { key, cert, caFile } = certificate;
  const secure = createServer({ key, cert }, (_, response) => void response.end());
  onTestFinished(() => closeServer(secure));
  const port = await listenOnLoopback(secure);
  const listen = { host: '127.0.0.1', port: (secure.address() as AddressInfo).port };
  const tls = { certificate: 'leaf.pem', key: 'leaf.key' };
  configureServer({ origin: `https://localhost:${port}`, listen, tls });
  const ending = { status: 'warning', says: expect.stringMatching(/^good until \d{4}-/) };
  const unknown = await examined(folder);
  expect(unknown.bad).toMatchObject({
    [`certificate ${join(folder, 'leaf.pem')}`]: ending,
    [`certificate of https://localhost:${port}`]: { status: 'problem', says: expect.stringContaining('certificate') },
  });
  const vouched = await examined(folder, { env: { ...process.env, NODE_EXTRA_CA_CERTS: caFile } });
  expect(vouched.bad[`certificate of https://localhost:${port}`]).toMatchObject(ending);
});

it('is a usage error where there is nothing to examine', async () => {
  const { code, stderr } = await runWispr(['doctor'], { cwd: temporaryFolder() });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/neither wispr\.json nor keyserver\.json.*\n.*-c FILE/)]);
});
