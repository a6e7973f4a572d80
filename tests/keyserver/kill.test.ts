/** `kill -9` at the steps of the commands that change keys, and of those that copy the database. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { acceptBinding, encodeRenewalRequest, RENEWAL_PATH } from '../../core/keys/binding.ts';
import { forDevelopment, readConfig } from '../../keyserver/config/config.ts';
import { overview } from '../../keyserver/operations/overview.ts';
import { importBundle } from '../../keyserver/publication/import-bundle.ts';
import { inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { startKeyServer } from '../../keyserver/server.ts';
import { checkAudit } from '../../keyserver/storage/audit-check.ts';
import { readMasterKeys } from '../../keyserver/storage/master-key.ts';
import type { KeyServerState } from '../../keyserver/storage/state.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { askForKeys, type BoundDevice, bind, bytesOf, post } from '../support/device.ts';
import { temporaryFolder, writeConfigAt } from '../support/keyserver-rig.ts';
import { ROOT, runProgram } from '../support/programs.ts';
import { createPublisher, type PublisherWithSets, sealBundle } from '../support/publisher-with-sets.ts';
import { openSealedRows } from '../support/sealed-rows.ts';
import { IS_RELEASE } from '../support/tier.ts';
import { runWispr, runWisprProgram } from '../support/wispr.ts';

/** Number of sets above one transaction of a new master key. */
const SETS = 501;
const FILES = ['keyserver.json', 'keyserver.db', 'master.key', 'keyserver.pub', 'copy.db'];
const PRELOAD = pathToFileURL(join(ROOT, 'tests/support/kill-at-step.mjs'));
const SECRETS = ['dispatcher', 'failures', 'httpcrypt', 'known-browsers', 'operators', 'passkeys', 'unsubscribe'];

let origin: string;
let publisher: PublisherWithSets;
let device: BoundDevice;
let code: string;
/** Rows, by table and primary key. */
let before: ReadonlyMap<string, string>;

const configAt = (folder: string) => readConfig(join(folder, 'keyserver.json'));
const startAt = (folder: string) => startKeyServer(forDevelopment(configAt(folder)), { log: pino({ enabled: false }) });
const inState = <Result>(folder: string, work: (state: KeyServerState) => Promise<Result>) =>
  withState(configAt(folder), work);

beforeAll(async () => {
  origin = temporaryFolder();
  publisher = await createPublisher(Array.from({ length: SETS }, (_, index) => `set-${index}`));
  writeConfigAt(origin, [await freePort(), await freePort()]); // the device finds it again there
  const server = await startAt(origin);
  const { origins, state } = server;
  const bundle = await sealBundle(publisher, state.recipient.publicKey, { ...origins, content: 'https://cdn.example' });
  await importBundle(state, bundle, origins);
  const ada = await inviteSubscriber(state, { name: 'Ada' });
  device = await bind({ keyServer: server.url, publisher: publisher.root.id }, ada.code);
  await server.close();
  code = (await inState(origin, (opened) => inviteSubscriber(opened, { name: 'Ben' }))).code;
  expect(await runWispr(['admin', 'backup', 'copy.db'], { cwd: origin })).toMatchObject({ code: 0 });
  before = await inState(origin, openSealedRows);
  if (!IS_RELEASE) await runAll();
});
afterAll(() => {
  for (const folder of [origin, ...folders.values()]) rmSync(folder, { recursive: true });
});

type Work = (folder: string) => Promise<unknown>;

/** Commands that are killed, with what brings a key server to where they begin. */
const COMMANDS = {
  'rotate master': undefined,
  'rotate recipient': undefined,
  'rotate devices': undefined,
  'rotate httpcrypt': undefined,
  'rotate master --remove-old': (folder) => runWispr(['admin', 'rotate', 'master'], { cwd: folder }),
  'rotate master --lost': async (folder) => rmSync(join(folder, 'master.key')),
  'backup new.db': undefined,
  'restore copy.db': async (folder) => rmSync(join(folder, 'keyserver.db')),
} satisfies Record<string, Work | undefined>;
type Command = keyof typeof COMMANDS;

const wordsOf = (command: Command) => ['admin', ...command.split(' ')];
const env = { ...process.env, NODE_OPTIONS: `--import=${PRELOAD}` };

/** A copy of the key server, where a command is about to begin. */
async function prepared(command: Command): Promise<string> {
  const folder = mkdtempSync(`${origin}-`);
  for (const file of FILES) cpSync(join(origin, file), join(folder, file));
  const prepare: Work | undefined = COMMANDS[command];
  await prepare?.(folder);
  return folder;
}

/** Folders in which commands have run to their end, beside copies of each of their steps. */
const folders = new Map<Command, string>();
async function runAll(): Promise<void> {
  for (const command of Object.keys(COMMANDS) as Command[]) folders.set(command, await prepared(command));
  const works = [...folders].map(([command, folder]) => [folder, wordsOf(command)]);
  const ended = await runProgram('tests/support/commands-in-turn.ts', [JSON.stringify(works)], { env });
  expect([ended.code, ended.stderr]).toEqual([0, expect.anything()]);
}

/** Yields what a `kill -9` leaves after each step of a command. */
async function* statesAfterSteps(command: Command): AsyncGenerator<string> {
  for (let step = 1; IS_RELEASE; step++) {
    const folder = await prepared(command);
    const at = { ...env, WISPR_KILL_AT: String(step) };
    const { code: status } = await runWisprProgram(wordsOf(command), { cwd: folder, env: at });
    if (status !== null) return expect(status).toBe(0);
    yield folder;
  }
  const folder = folders.get(command);
  for (let step = 1; existsSync(`${folder}.${step}`); step++) yield `${folder}.${step}`;
}

/** Looks at what is there after a kill at each step of a command. */
async function afterEachStep(command: Command, check: Work): Promise<void> {
  let states = 0;
  for await (const folder of statesAfterSteps(command)) {
    await check(folder);
    rmSync(folder, { recursive: true });
    states++;
  }
  expect(states).toBeGreaterThan(2);
}

const runToEnd = async (command: Command, folder: string) =>
  expect(await runWispr(wordsOf(command), { cwd: folder })).toMatchObject({ code: 0 });

/** A server starts; the device has its keys, and an open code is good once. */
async function expectService(folder: string): Promise<void> {
  const server = await startAt(folder);
  try {
    const ids = [...publisher.sets.values()].slice(0, 50).map(({ id }) => id);
    const asked = await askForKeys(device, ids).catch(async () => askForKeys(await renewed(), ids));
    expect(asked.keys).toHaveLength(ids.length);
    await bind(device.provider, code);
    await expect(bind(device.provider, code)).rejects.toThrow('code-refused');
    expect(await checkAudit(server.state.database)).toMatchObject({ problem: undefined });
  } finally {
    await server.close();
  }
}

async function renewed(): Promise<BoundDevice> {
  const { keys, provider } = device;
  const request = encodeRenewalRequest(keys, provider.publisher, nowInSeconds());
  const answer = await bytesOf(await post(provider.keyServer, RENEWAL_PATH, request));
  return { keys, provider, deviceKey: await acceptBinding(request, answer, keys, provider) };
}

/** Removes what tells rows of a table apart, but for the secrets, which have names. */
const kindOf = (row: string) => (row.startsWith('secrets ') ? row : (row.split(' ')[0] ?? ''));

describe('attack 66: kill -9 at the steps of', () => {
  it.each([
    ['rotate master', []],
    ['rotate recipient', ['former_recipients', 'recipient']],
    ['rotate devices', ['devices', 'secrets known-browsers']],
    ['rotate httpcrypt', ['secrets httpcrypt']],
  ] as const)('%s: all of it was done or nothing, and the next run goes on', async (command, changes) => {
    await afterEachStep(command, async (folder) => {
      const after = await inState(folder, (state) => {
        expect(readFileSync(join(folder, 'keyserver.pub'), 'utf8').trim()).toBe(toBase64url(state.recipient.publicKey));
        return openSealedRows(state);
      });
      const names = new Set([...before.keys(), ...after.keys()]);
      const changed = [...names].filter((name) => before.get(name) !== after.get(name));
      expect([[], changes]).toContainEqual(changed.map(kindOf).sort());
      expect([...after.values()]).toContain(before.get('recipient 1')); // bundles are sealed to it until the publisher has the new one
      await runToEnd(command, folder);
      await expectService(folder);
    });
  });

  it('rotate master --remove-old: the key that is in use stays', async () => {
    const command = 'rotate master --remove-old';
    await afterEachStep(command, async (folder) => {
      expect(await inState(folder, openSealedRows)).toEqual(before);
      await runToEnd(command, folder);
      expect([...(await readMasterKeys(join(folder, 'master.key'))).keys()]).toEqual([2]);
      await expectService(folder);
    });
  });

  it('rotate master --lost: it is done again until there is a master key that opens all', async () => {
    const command = 'rotate master --lost';
    await afterEachStep(command, async (folder) => {
      if (!existsSync(join(folder, 'master.key'))) await runToEnd(command, folder);
      const rows = [...(await inState(folder, openSealedRows)).keys()];
      const kept = ['recipient', ...SECRETS.map((name) => `secrets ${name}`)]; // the publisher brings the rest again
      expect(rows.map(kindOf)).toEqual(kept);
      const { subscribers } = await inState(folder, overview);
      expect(subscribers).toMatchObject([
        { name: 'Ada', devices: [{}] },
        { name: 'Ben', openInvitations: 1 },
      ]);
    });
  });

  it('backup: there is a whole copy or none, and the database is as it was', async () => {
    await afterEachStep('backup new.db', async (folder) => {
      expect(await inState(folder, openSealedRows)).toEqual(before);
      if (!existsSync(join(folder, 'new.db'))) await runToEnd('backup new.db', folder);
      for (const end of ['', '-wal', '-shm']) rmSync(join(folder, `keyserver.db${end}`), { force: true });
      expect(await runWispr(['admin', 'restore', 'new.db'], { cwd: folder })).toMatchObject({ code: 0 });
      expect(await inState(folder, openSealedRows)).toEqual(before);
    });
  });

  it('restore: there is a whole database, in which open codes are void, or none', async () => {
    await afterEachStep('restore copy.db', async (folder) => {
      if (!existsSync(join(folder, 'keyserver.db'))) await runToEnd('restore copy.db', folder);
      expect(await inState(folder, openSealedRows)).toEqual(before);
      const server = await startAt(folder);
      const { subscribers } = await overview(server.state);
      await expect(bind(device.provider, code)).rejects.toThrow('code-refused');
      await server.close();
      expect(subscribers).toMatchObject([
        { name: 'Ada', devices: [{}] },
        { name: 'Ben', openInvitations: 0 },
      ]);
    });
  });
});
