/** A Reader that runs and cannot be asked: nothing may take it for none. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  askStatus,
  eraseData,
  forgetEverything,
  lockReaders,
  readerFiles,
  unlockReaders,
} from '../../../client-proxy/index.ts';
import { DATABASE_FILES } from '../../../client-proxy/store/locations.ts';
import { refusalCode, send } from '../../support/http-client.ts';
import { proxyCommand, type ReaderRig, startReaderRig } from '../../support/reader-rig.ts';
import { type RunningWispr, runWispr, startWispr } from '../../support/wispr.ts';

let rig: ReaderRig;
let session: string;
beforeEach(async () => {
  session = mkdtempSync(join(tmpdir(), 'wispr-session-'));
  vi.stubEnv('XDG_RUNTIME_DIR', session);
  rig = await startReaderRig();
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'for subscribers' });
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rig.close();
  rmSync(session, { recursive: true, force: true });
});

const read = () => send(rig.proxy.port, rig.url('/a.html'));
const unreachable = { code: 'reader-unreachable', process: process.pid };
const never = async () => expect.unreachable();
const files = () => readerFiles({ dataDirectory: rig.storage.dataDirectory });

const databaseFile = () => join(rig.storage.dataDirectory, DATABASE_FILES[0]);

/** In place, and from elsewhere: the system takes SQLite's locks from a process that opens the file by itself. */
function damageDatabase(): void {
  const file = JSON.stringify(databaseFile());
  const damage = `const { openSync, writeSync } = require('node:fs'); writeSync(openSync(${file}, 'r+'), Buffer.alloc(12288, 'x'), 0, 12288, 4096)`;
  expect(spawnSync(process.execPath, ['-e', damage]).status).toBe(0);
}

function changeDatabase(sql: string): void {
  const database = new DatabaseSync(databaseFile());
  database.exec(sql);
  database.close();
}

function eraseDatabase(): void {
  for (const name of DATABASE_FILES) rmSync(join(rig.storage.dataDirectory, name));
}

/** What each command does that asks for Readers. */
async function expectUnreachable(): Promise<void> {
  expect((await lockReaders(rig.storage)).readers).toMatchObject([unreachable]);
  expect((await unlockReaders(rig.storage, never)).readers).toMatchObject([unreachable]);
  await expect(askStatus(rig.storage.dataDirectory)).rejects.toMatchObject({ code: 'reader-unreachable' });
  await expect(eraseData(files())).rejects.toMatchObject({ code: 'reader-unreachable' });
  expect((await read()).text).toBe('for subscribers');
  const forgotten = await forgetEverything(rig.storage);
  expect(forgotten).toMatchObject({ filesRemoved: false, readers: [unreachable] });
}

describe('a Reader', () => {
  it('whose session ended is not taken for none', async () => {
    expect(await askStatus(rig.storage.dataDirectory)).toMatchObject({
      readers: [{ process: process.pid }],
      silent: [],
    });
    rmSync(session, { recursive: true });
    await expectUnreachable();
  });

  it('without a place for its socket says so, and is not taken for none', async () => {
    expect(rig.proxy.notices).toEqual([]);
    await rig.proxy.close();
    chmodSync(join(session, 'wispr'), 0o777);
    await rig.restart();
    expect(rig.proxy.notices).toEqual([expect.stringContaining(join(session, 'wispr'))]);
    await expectUnreachable();
  });

  it('of another session is asked there', async () => {
    const other = join(session, 'other');
    mkdirSync(other);
    vi.stubEnv('XDG_RUNTIME_DIR', other);
    expect((await lockReaders(rig.storage)).readers).toEqual([{ url: rig.proxy.url, locked: true }]);
    expect(refusalCode(await read())).toBe('reader-locked');
  });

  it('whose database was erased has no keys any more, and gets none', async () => {
    expect((await read()).text).toBe('for subscribers');
    eraseDatabase();
    await expect.poll(async () => refusalCode(await read())).toBe('store-unusable');
    expect(rig.proxy.lock.isLocked).toBe(true);
    await expect(rig.proxy.lock.unlock()).rejects.toMatchObject({ code: 'store-unusable' });
    expect(refusalCode(await read())).toBe('store-unusable');
  });

  it.each([
    ['damaged', 'store-damaged', damageDatabase],
    ['changed by a newer version', 'store-newer', () => changeDatabase('PRAGMA user_version = 99')],
    ['half forgotten', 'store-damaged', () => changeDatabase("DELETE FROM storage WHERE name = 'check'")],
    ['erased', 'no-identity', eraseDatabase],
  ])('whose database was %s drops its keys when it is told to', async (_, code, harm) => {
    harm();
    expect(rig.proxy.lock.isLocked).toBe(false);
    expect(await lockReaders(rig.storage)).toEqual({
      keysIn: undefined,
      readers: [{ url: rig.proxy.url, locked: true }],
    });
    expect(rig.proxy.lock.isLocked).toBe(true);
    await expect(forgetEverything(rig.storage)).rejects.toMatchObject({ code });
  });

  it.each([
    ['damaged', 'store-damaged', damageDatabase],
    ['erased', 'no-identity', eraseDatabase],
  ])(
    'whose database was %s drops its keys where everything is forgotten, also where that fails',
    async (_, code, harm) => {
      harm();
      await expect(forgetEverything(rig.storage)).rejects.toMatchObject({ code });
      expect(rig.proxy.lock.isLocked).toBe(true);
    },
  );

  it('leaves no trace of having run', async () => {
    await rig.proxy.close();
    expect(readdirSync(rig.storage.dataDirectory).filter((name) => name.startsWith('reader.run'))).toEqual([]);
    expect(readdirSync(join(session, 'wispr'))).toEqual([]);
  });
});

describe('on the command line', () => {
  let running: RunningWispr<{ proxy: string }>;
  const wispr = (...args: string[]) =>
    runWispr([...args, '--data', rig.storage.dataDirectory, '--key-file', rig.storage.keyFile]);
  const readThere = () => send(Number(new URL(running.ready.proxy).port), 'http://news.example/a.html');
  beforeEach(async () => {
    await rig.proxy.close();
    running = await startWispr(proxyCommand(rig, rig.host.port));
  });
  afterEach(() => running.stop('SIGKILL'));

  it('a Reader whose socket is gone is no success', async () => {
    rmSync(join(session, 'wispr'), { recursive: true });
    const locked = await wispr('identity', 'lock', '--json');
    expect([locked.code, JSON.parse(locked.stdout)]).toEqual([
      1,
      {
        readers: [
          { error: expect.any(String), code: 'reader-unreachable', process: running.pid, hint: expect.any(String) },
        ],
      },
    ]);
    for (const args of [
      ['identity', 'lock'],
      ['proxy', 'status'],
    ]) {
      const { code, stderr } = await wispr(...args);
      expect(code).toBe(1);
      expect(stderr).toContain('[reader-unreachable]');
      expect(stderr).toContain(`kill -KILL ${running.pid}\n`);
    }
    expect((await readThere()).text).toBe('for subscribers');
  });

  it('a Reader that hangs keeps its data from being erased', async () => {
    process.kill(running.pid, 'SIGSTOP');
    const { code, stderr } = await wispr('proxy', 'remove', '--erase-data', '--yes');
    expect([code, stderr.includes('[reader-unreachable]')]).toEqual([1, true]);
    expect(existsSync(join(rig.storage.dataDirectory, 'reader.db'))).toBe(true);
    process.kill(running.pid, 'SIGCONT');
    expect((await readThere()).text).toBe('for subscribers');
    await running.stop('SIGKILL');
    expect((await wispr('identity', 'lock')).code).toBe(0); // now there is none, and what it left is removed
    expect((await wispr('proxy', 'remove', '--erase-data', '--yes')).code).toBe(0);
    expect(readdirSync(rig.directory, { recursive: true })).toEqual([]);
  });
});
