/** Whole key servers, one of them the dispatcher. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import { forDevelopment, type KeyServerConfig, readConfig } from '../../keyserver/config/config.ts';
import { configTemplate } from '../../keyserver/config/template.ts';
import { type RunningKeyServer, startKeyServer } from '../../keyserver/server.ts';
import { forFile } from '../support/for-file.ts';
import { configIn, logged, rigForFile, temporaryFolder } from '../support/keyserver-rig.ts';
import { createReader } from '../support/reading-site-visitor.ts';

const PASSWORD = 'correct horse battery';
const metrics = { listen: { host: '127.0.0.1', port: 0 } };
let port: number;
const rig = rigForFile(async () => {
  port = await freePort();
  return { config: { dispatcher: { listen: { host: '127.0.0.1', port } }, metrics } };
});
const other = forFile(() => start({ ...rig.config, publicKey: join(rig.folder, 'other.pub'), metrics }));
const { log, text } = logged();

function start(config: KeyServerConfig): Promise<RunningKeyServer> {
  return startKeyServer({ ...config, dispatcher: { connect: `127.0.0.1:${port}` } }, { log });
}

const said = () => text() + rig.log();

async function metric(name: string, server = other): Promise<number> {
  const text = await (await fetch(server.metricsUrl ?? '')).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name} `)) ?? '';
  return Number(line.slice(name.length));
}

const outcome = (name: string) => `wispr_password_hashes_total{outcome="${name}"}`;

async function signIn(password: string): Promise<number> {
  const { status } = await createReader(other).signIn('ada', password);
  return status;
}

it('attack 125: key servers of one database find each other, hash together, and say no password', async () => {
  await expect.poll(() => metric('wispr_dispatcher_connected')).toBe(1);
  await expect.poll(() => metric('wispr_dispatcher_connected', rig.server)).toBe(1);
  const code = await rig.codeFor('ada');
  const joined = await createReader(rig.server).join(code, PASSWORD);
  expect(joined.status).toBe(303);
  expect([await signIn(PASSWORD), await signIn('another password')]).toEqual([303, 403]);
  expect(await metric(outcome('dispatched'))).toBe(2);
  expect(await metric(outcome('local'))).toBe(0);
  expect(await metric(outcome('dispatched'), rig.server)).toBe(1);
  expect(said()).toContain('"msg":"the dispatcher is there"');
  expect(said()).toContain('"msg":"a key server came to the dispatcher"');
  expect(said()).not.toMatch(/correct horse|another password/);
});

it('attack 104: a password that no account can have is wrong, and is not hashed', async () => {
  const hashes = async () => {
    const outcomes = ['local', 'dispatched', 'for-dispatcher'].map(outcome);
    const servers = [other, rig.server];
    return Promise.all(servers.flatMap((server) => outcomes.map((each) => metric(each, server))));
  };
  const before = await hashes();
  for (const server of [other, rig.server]) {
    const visitor = createReader(server);
    // Bytes that are no UTF-8 become three each.
    for (const password of ['x'.repeat(1025), '%FF'.repeat(2700)]) {
      const { status, text } = await visitor.post('/-/sign-in', `name=ada&to=/&password=${password}`);
      expect(status).toBe(403);
      expect(text).toContain('That name and password don’t match');
    }
  }
  expect(await hashes()).toEqual(before);
});

it('attack 125: a key server of another database is refused, and works alone', async () => {
  const folder = temporaryFolder();
  const stranger = await start({ ...configIn(folder), metrics });
  await expect.poll(said).toContain('"msg":"the dispatcher has another database or master key"');
  await expect.poll(said).toContain('"msg":"refused a key server that has another database or master key"');
  expect(await metric('wispr_dispatcher_connected', stranger)).toBe(0);
  expect((await createReader(stranger).signIn('ada', 'a password for strangers')).status).toBe(403);
  expect([await metric(outcome('local'), stranger), await metric(outcome('dispatched'), stranger)]).toEqual([1, 0]);
  expect(said()).not.toContain('for strangers');
  expect(await metric('wispr_dispatcher_connected', rig.server)).toBe(1);
  await stranger.close();
});

it('the configuration names one of two ways, and --dev none', () => {
  const file = join(rig.folder, 'keyserver.json');
  const write = (dispatcher: string) =>
    writeFileSync(file, configTemplate({ dev: true }).replace(/^\{/m, `{ "dispatcher": ${dispatcher},`));
  for (const good of ['{ "listen": { "host": "10.0.0.5", "port": 7443 } }', '{ "connect": "[fd00::5]:7443" }']) {
    write(good);
    expect(readConfig(file).dispatcher).toEqual(JSON.parse(good));
    expect(forDevelopment(readConfig(file)).dispatcher).toBeUndefined();
  }
  const both = '{ "listen": { "host": "10.0.0.5", "port": 7443 }, "connect": "10.0.0.5:7443" }';
  const places = ['10.0.0.5', 'tls://a:1', 'a:0', 'a:65536', 'a:1/x', '::1:7443'];
  for (const bad of ['{}', both, ...places.map((connect) => `{ "connect": "${connect}" }`)]) {
    write(bad);
    expect(() => readConfig(file), bad).toThrow(expect.objectContaining({ code: 'configuration-invalid' }));
  }
});
