/** The playbooks of docs/operations.md: the very commands that stand there, on a running site. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import type { KeyId } from '../../core/crypto/key-id.ts';
import { acceptBinding, encodeRenewalRequest, RENEWAL_PATH } from '../../core/keys/binding.ts';
import {
  beginOperatorSession,
  findOperator,
  findOperatorLink,
  inviteOperator,
  listOperators,
} from '../../keyserver/admin-site/operators.ts';
import { forDevelopment, readConfig } from '../../keyserver/config/config.ts';
import { overview } from '../../keyserver/operations/overview.ts';
import { type RunningKeyServer, startKeyServer } from '../../keyserver/server.ts';
import { createSession, findSession } from '../../keyserver/sign-in/accounts.ts';
import { createMailCode, findMailCode } from '../../keyserver/sign-in/mail-codes.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { askForKeys, type BoundDevice, bind, bytesOf, post } from '../support/device.ts';
import { temporaryFolder, writeConfigAt } from '../support/keyserver-rig.ts';
import { newPostgresUrl } from '../support/postgres.ts';
import { runWispr } from '../support/wispr.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const PAGE = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

const folder = temporaryFolder();
let server: RunningKeyServer;
let publisher: TestWorkspace;
let ports: number[];
let device: BoundDevice;
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  ports = [await freePort(), await freePort(), await freePort()];
  writeConfigAt(folder, ports);
  await start();
  const settings = { keyServer: server.url, reading: server.readingUrl, publish: 'web', keyServerTokenFile: 'token' };
  publisher = await createWorkspace({ 'a.html': '<p>one</p>' }, settings);
  writeFileSync(join(publisher.directory, 'pass'), `${PASSPHRASE}\n`, { mode: 0o600 });
  giveToPublisher();
  await asPublisher('wispr protect');
  await asOperator(`wispr admin import ${join(publisher.directory, 'keys.bundle')}`);
  await asOperator('wispr admin token > token');
  giveToPublisher();
  await asPublisher('wispr publish -y');
  device = await connectAs('ada');
});
afterAll(async () => {
  await server.close();
  await publisher.remove();
});

async function start(): Promise<void> {
  server = await startKeyServer(forDevelopment(readConfig(file('keyserver.json'))), { log: pino({ enabled: false }) });
}

/** Runs a command as it is typed; `> FILE` is the shell's. @returns all that it said */
async function run(command: string, cwd: string, more: readonly string[] = []): Promise<string> {
  const [line = '', target] = command.split(' > ');
  const { code, stdout, stderr } = await runWispr([...line.split(' ').slice(1), ...more], { cwd });
  expect([command, code, code === 0 ? '' : stderr]).toEqual([command, 0, '']);
  if (target !== undefined) writeFileSync(join(cwd, target), stdout, { mode: 0o600 });
  return stdout + stderr;
}

const asOperator = (command: string) => run(command, folder);
const asPublisher = (command: string) => run(command, publisher.directory, ['--passphrase-file', 'pass']);

function giveToPublisher(): void {
  for (const name of ['keyserver.pub', 'token'])
    if (existsSync(file(name))) cpSync(file(name), join(publisher.directory, name));
}

/** Runs the next block of a playbook. @returns what it said */
async function play(title: string, index: number, words: Readonly<Record<string, string>> = {}): Promise<string> {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? '';
  const [, block = ''] = Array.from(section.matchAll(/```sh\n(.*?)```/gs))[index] ?? [];
  const [role = '', ...commands] = block.trimEnd().split('\n');
  expect(role).toMatch(/^# (operator|publisher)/);
  let said = '';
  for (const command of commands) {
    const filled = command.replace(/\b[A-Z]{2,}\b/g, (word) => words[word] ?? word);
    said += await (role.startsWith('# operator') ? asOperator(filled) : asPublisher(filled));
  }
  return said;
}

async function connectAs(name: string): Promise<BoundDevice> {
  const said = await asOperator(`wispr invite ${name} --json`);
  const { code } = JSON.parse(said.split('\n')[0] ?? '') as { code: string };
  const { root = '' } = (await server.state.database.first<{ root: string }>('SELECT root FROM provider')) ?? {};
  return bind({ keyServer: server.url, publisher: root as KeyId }, code);
}

/** Signs an operator and a subscriber in. @returns who they are by their sessions now */
async function sessionsOf(operator: string, subscriber: string): Promise<() => Promise<(string | undefined)[]>> {
  const { database } = server.state;
  const idOf = async (table: string, name: string) =>
    (await database.first<{ id: number }>(`SELECT id FROM ${table} WHERE name = ?`, name))?.id ?? 0;
  const admin = await beginOperatorSession(server.state, await idOf('operators', operator));
  const { token } = await createSession(server.state, await idOf('subscribers', subscriber));
  return async () => [(await findOperator(server.state, admin))?.name, (await findSession(server.state, token))?.name];
}

const setIds = async () => (await overview(server.state)).sets.map(({ id }) => id as KeyId);

const setName = async () => (await overview(server.state)).sets[0]?.name ?? '';

/** A device as Readers do it: where its key is refused, it gets another one. */
async function reads(): Promise<boolean> {
  const ids = await setIds();
  const all = async () => (await askForKeys(device, ids)).keys.length === ids.length && ids.length > 0;
  return all().catch(async () => {
    const { keys, provider } = device;
    // The first answer is lost.
    for (const { publisher } of [provider, provider]) {
      const request = encodeRenewalRequest(keys, publisher, nowInSeconds());
      const response = await post(provider.keyServer, RENEWAL_PATH, request);
      device = { keys, provider, deviceKey: await acceptBinding(request, await bytesOf(response), keys, provider) };
    }
    return all();
  });
}

it('the playbook for a stolen server: what was stolen is of no use any more', async () => {
  expect(await reads()).toBe(true);
  const stolen = { device, sets: await setIds(), token: readFileSync(file('token'), 'utf8') };
  const key = readFileSync(file('master.key'), 'utf8');
  await play('A stolen server', 0);
  giveToPublisher();
  await play('A stolen server', 1, { SET: await setName() });
  expect(await reads()).toBe(true);
  expect((await setIds()).filter((id) => !stolen.sets.includes(id))).toHaveLength(1);
  await expect(askForKeys(stolen.device, stolen.sets)).rejects.toThrow('403');
  expect(readFileSync(file('master.key'), 'utf8')).not.toContain(key.split(' ')[1]);
  expect(readFileSync(file('token'), 'utf8')).not.toBe(stolen.token);
});

it('the playbook for a lost master key: devices go on, with the keys that the publisher has', async () => {
  await server.close();
  const refused = await runWispr(['admin', 'rotate', 'master', '--lost'], { cwd: folder });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('there is a master key')]);
  rmSync(file('master.key'));
  await play('A lost master key', 0);
  await start();
  giveToPublisher();
  await play('A lost master key', 1);
  expect(await reads()).toBe(true);
  expect((await overview(server.state)).subscribers).toMatchObject([{ name: 'ada', devices: [{ kind: 'reader' }] }]);
});

it('backup and restore: the copy is whole, nothing is overwritten, and what may have ended since is not brought back (attack 137)', async () => {
  const invited = await asOperator('wispr invite ben --json');
  const operator = await inviteOperator(server.state, 'odile');
  const ended = await sessionsOf('odile', 'ada');
  await play('Every day', 0, { FILE: 'copy.db', DIR: 'daily' });
  expect(statSync(file('copy.db')).mode & 0o777).toBe(0o600);
  for (const command of ['backup', 'restore']) {
    const again = await runWispr(['admin', command, 'copy.db'], { cwd: folder });
    expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/is there.*\[argument-invalid\]/s)]);
  }
  await asOperator('wispr invite late');
  await server.close();
  renameSync(file('keyserver.db'), file('lost.db'));
  for (const end of ['-wal', '-shm']) rmSync(file(`keyserver.db${end}`), { force: true });
  const whole = readFileSync(file('copy.db'));
  writeFileSync(file('half.db'), whole.subarray(0, whole.length / 2));
  const damaged = await runWispr(['admin', 'restore', 'half.db'], { cwd: folder });
  expect([damaged.code, damaged.stderr]).toEqual([1, expect.stringContaining('[store-unusable]')]); // attack 68
  expect(existsSync(file('keyserver.db'))).toBe(false);
  const said = await play('A lost database', 0, { FILE: 'copy.db' });
  expect(said).toMatch(/what came after 20\d\d-.* is lost/);
  expect(said).toMatch(
    /ended 1 session: .*used: those of ben\n.*--state invited" makes new ones.*NAME": odile\n.*revoke NAME": publisher\n/s,
  );
  await start();
  await play('A lost database', 1);
  expect(await reads()).toBe(true);
  const { code } = JSON.parse(invited.split('\n')[0] ?? '') as { code: string };
  await expect(bind(device.provider, code)).rejects.toThrow('code-refused');
  expect(await findOperatorLink(server.state, operator.code)).toBeUndefined(); // attack 94
  expect(await ended()).toEqual([undefined, undefined]);
  expect(await listOperators(server.state)).toEqual([]);
  expect((await overview(server.state)).subscribers.map(({ name }) => name)).toEqual(['ada', 'ben']);
});

it('keeps so many daily copies, and neither one that cannot be restored nor removes another for it', async () => {
  const day = new Date().toISOString().slice(0, 10);
  const names = ['wispr-2020-01-01.db', 'wispr-2020-01-02.db', 'wispr-9999-01-01.db', 'wispr-notes.db'];
  mkdirSync(file('copies'));
  for (const name of names) writeFileSync(join(file('copies'), name), '');
  const backup = ['admin', 'backup', '--daily', 'copies'];
  renameSync(file('master.key'), file('away'));
  const failed = await runWispr(backup, { cwd: folder });
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('[backup-unusable]')]);
  expect(readdirSync(file('copies'))).toEqual(names);
  renameSync(file('away'), file('master.key'));
  const made = await runWispr([...backup, '--keep', '2', '--json'], { cwd: folder });
  const removed = ['copies/wispr-2020-01-02.db', 'copies/wispr-2020-01-01.db'];
  const copy = join('copies', `wispr-${day}.db`);
  expect([made.code, JSON.parse(made.stdout)]).toEqual([0, { backup: copy, made: true, removed }]);
  expect(readdirSync(file('copies'))).toEqual([`wispr-${day}.db`, ...names.slice(2)]);
  expect(statSync(file(copy)).mode & 0o777).toBe(0o600);
  const again = await runWispr([...backup, '--json'], { cwd: folder });
  expect(JSON.parse(again.stdout)).toEqual({ backup: copy, made: false, removed: [] });
  writeFileSync(file(copy), readFileSync(file(copy)).subarray(0, 9000));
  const damaged = await runWispr(backup, { cwd: folder });
  expect([damaged.code, damaged.stderr]).toEqual([1, expect.stringContaining('[backup-unusable]')]);
  for (const wrong of [['both.db'], ['--keep', '0']])
    expect((await runWispr([...backup, ...wrong], { cwd: folder })).code).toBe(2);
});

it('the playbook for a stolen targets key: every key of the publisher is another one', async () => {
  const before = await setIds();
  const publisherKey = (await overview(server.state)).publisher?.key;
  await play('A stolen targets key', 0, { SET: await setName() });
  cpSync(join(publisher.directory, 'keys.bundle'), file('keys.bundle'));
  const [, id = ''] = /publisher key (\S+)/.exec(await asPublisher('wispr keys list')) ?? [];
  await play('A stolen targets key', 1, { ID: id });
  await play('A stolen targets key', 2);
  expect(await reads()).toBe(true);
  expect((await setIds()).filter((id) => !before.includes(id))).toHaveLength(1);
  expect((await overview(server.state)).publisher?.key).not.toBe(publisherKey);
});

it('the playbook for a dead publisher machine: another one goes on from copies', async () => {
  const dead = publisher.directory;
  const copy = temporaryFolder();
  for (const name of ['wispr.json', 'publisher.keys', 'keyserver.pub', 'token', 'site', 'pass'])
    cpSync(join(dead, name), join(copy, name), { recursive: true });
  cpSync(join(dead, 'web'), join(copy, 'web'), { recursive: true }); // the web host
  publisher = { ...publisher, directory: copy };
  await play('A dead publisher machine', 0);
  expect(await reads()).toBe(true);
  publisher = { ...publisher, directory: dead };
});

it('the playbook for a lost laptop: its device is refused, and the reader reads on another', async () => {
  const lost = device;
  await play('A lost laptop', 0, { NAME: 'ada' });
  const { refused } = await askForKeys(lost, await setIds());
  expect(refused.every(({ reason }) => reason === 'revoked')).toBe(true);
  device = await connectAs('ada');
  expect(await reads()).toBe(true);
});

it('moves to a PostgreSQL: devices, names and the audit trail go on there', async () => {
  // Versions before stored such a name; PostgreSQL has no such text.
  const asked = { purpose: 'sign-in', name: 'a\0b', subscriber: undefined, target: '/' } as const;
  const { secret } = await createMailCode(server.state, asked);
  const { code } = await inviteOperator(server.state, 'odile');
  const sessions = await sessionsOf('odile', 'ada');
  await server.state.lastSeen.store();
  const before = await overview(server.state);
  await server.close();
  await asOperator('wispr admin backup moved.db');
  writeConfigAt(folder, ports, { data: undefined, database: await newPostgresUrl() });
  expect(await asOperator('wispr admin restore --move moved.db')).toMatch(/moved \d+ subscribers, with their sessions/);
  const again = await runWispr(['admin', 'restore', 'moved.db'], { cwd: folder });
  expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/is not empty.*\[argument-invalid\]/s)]);
  await start();
  expect(await reads()).toBe(true);
  expect((await overview(server.state)).subscribers).toEqual(before.subscribers);
  expect(await findOperatorLink(server.state, code)).toBeUndefined();
  expect(await sessions()).toEqual([undefined, 'ada']);
  expect(await listOperators(server.state)).toMatchObject([{ name: 'odile' }]);
  expect(await findMailCode(server.state, [secret])).toBeUndefined(); // attack 94
  device = await connectAs('dora'); // has a number of its own
  expect(await reads()).toBe(true);
  await asOperator('wispr admin audit --verify');
});
