/** Whether a Reader runs on a database, as its lock says it: of processes that live, hang, and were killed. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs, {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LIMITS } from '../../../client-proxy/limits.ts';
import { type Announcement, announce, announcedReaders } from '../../../client-proxy/running/announcement.ts';
import { askStatus, dropDead, tellReaders } from '../../../client-proxy/running/ask-readers.ts';
import { makeSocketFolder, socketOf } from '../../../client-proxy/running/socket-place.ts';
import { ROOT, type RunningProgram, startCommand } from '../../support/programs.ts';
import { CleanUp, temporaryFolder } from '../../support/reader-rig.ts';

const cleanUp = new CleanUp();
let directory: string;
beforeEach(async () => {
  directory = await temporaryFolder(cleanUp);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  return cleanUp.run();
});

/** A process that announces itself as a Reader, and does nothing else. */
async function another(): Promise<RunningProgram> {
  const module = JSON.stringify(`${ROOT}client-proxy/running/announcement.ts`);
  const text = `const { announce } = await import(${module}); announce(${JSON.stringify(directory)}); console.log('ready'); setInterval(() => {}, 1000)`;
  const program = startCommand([process.execPath, '--input-type=module', '-e', text]);
  cleanUp.add(() => program.stop('SIGKILL'));
  await program.line(/^ready$/);
  return program;
}

function announceHere(): Announcement {
  const announcement = announce(directory);
  cleanUp.add(async () => announcement.close());
  return announcement;
}

const running = () => announcedReaders(directory).map((reader) => ({ process: reader.process, is: reader.state() }));
/** The file of the only one, and where it says how it can be found. */
const fileOf = () => announcedReaders(directory)[0]?.file ?? '';
const whereabouts = () => `${fileOf()}.json`;
/** Of a process that was killed long ago. */
const left = () => join(directory, 'reader.run-0123456789');

it('is known of this process until it is closed, and leaves nothing', () => {
  const announcement = announce(directory);
  const files = readdirSync(directory).map((name) => statSync(join(directory, name)));
  expect(files.map(({ mode }) => mode & 0o777)).toEqual([0o600, 0o600]);
  expect(announcedReaders(directory)).toMatchObject([{ process: process.pid, socket: announcement.socket }]);
  expect(running()).toEqual([{ process: process.pid, is: 'running' }]);
  announcement.close();
  expect(readdirSync(directory)).toEqual([]);
  announcement.close();
});

it('is known of several Readers, each by itself', () => {
  const [first, second] = [announce(directory), announce(directory)];
  expect(running()).toHaveLength(2);
  first.close();
  expect(running()).toEqual([{ process: process.pid, is: 'running' }]);
  second.close();
});

it('is true of a process that hangs, and false of one that was killed, whose file goes', async () => {
  const program = await another();
  expect(running()).toEqual([{ process: program.pid, is: 'running' }]);
  process.kill(program.pid, 'SIGSTOP');
  expect(running()).toEqual([{ process: program.pid, is: 'running' }]);
  await program.stop('SIGKILL');
  expect(running()).toEqual([{ process: program.pid, is: 'ended' }]);
  expect(readdirSync(directory)).toEqual([]);
});

it('is true of one without a socket, which cannot be told anything', async () => {
  const program = await another();
  expect(await tellReaders(directory, { do: 'lock' })).toEqual([
    {
      error: expect.any(String),
      code: 'reader-unreachable',
      process: program.pid,
      hint: expect.stringContaining(`kill -KILL ${program.pid}`),
    },
  ]);
  await program.stop('SIGKILL');
  expect(await tellReaders(directory, { do: 'lock' })).toEqual([]);
});

it('is unknown where the lock cannot be asked for: then no number of a process is told, and what to do', async () => {
  writeFileSync(left(), 'x'.repeat(4096));
  const announcement = announceHere();
  const told = readFileSync(`${announcedReaders(directory).find(({ file }) => file !== left())?.file}.json`);
  writeFileSync(`${left()}.json`, told);
  announcement.close();
  expect(running()).toEqual([{ process: process.pid, is: 'unknown' }]);
  expect(await tellReaders(directory, { do: 'lock' })).toEqual([
    { error: expect.any(String), code: 'reader-unreachable', hint: expect.stringContaining(left()) },
  ]);
  await expect(askStatus(directory)).rejects.toMatchObject({
    code: 'reader-unreachable',
    hint: expect.stringContaining(left()),
  });
});

describe('of one that runs', () => {
  it('keeps a file that has nothing in it to be damaged, and SQLite makes none beside it', async () => {
    const program = await another();
    expect(statSync(fileOf()).size).toBe(0);
    expect(running()).toEqual([{ process: program.pid, is: 'running' }]);
    expect(readdirSync(directory)).toHaveLength(2);
  });

  it.each([
    ['was cut', (text: string) => text.slice(0, 20)],
    ['is zeros', (text: string) => '\0'.repeat(text.length)],
    ['is no object', () => 'null'],
    ['is of other types', () => '{"process":"1","socket":1}'],
    ['is too long', (text: string) => text.padEnd(LIMITS.whereaboutsLength + 1)],
    ['is of another container', (text: string) => text.replace(/pid:\[\d+\]/, 'pid:[1]')],
    ['is of another machine, or another start of it', (text: string) => text.replace(/[0-9a-f]{8}-/, '00000000-')],
  ])('is true where what it says %s; but whose number it is, nobody knows', async (_, damage) => {
    announceHere();
    writeFileSync(whereabouts(), damage(readFileSync(whereabouts(), 'utf8')));
    expect(running()).toEqual([{ process: undefined, is: 'running' }]);
    const [told] = await tellReaders(directory, { do: 'lock' });
    expect(told).toEqual({
      error: expect.any(String),
      code: 'reader-unreachable',
      hint: expect.stringContaining(fileOf()),
    });
    expect(told).not.toMatchObject({ hint: expect.stringContaining('kill') });
  });

  it('is not found through links', () => {
    announceHere();
    renameSync(whereabouts(), join(directory, 'elsewhere'));
    symlinkSync(join(directory, 'elsewhere'), whereabouts());
    expect(running()).toEqual([{ process: undefined, is: 'running' }]);
  });

  it('is never of a file that somebody removed before it was locked', () => {
    const { exec } = DatabaseSync.prototype;
    vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementationOnce(function (this: DatabaseSync, sql) {
      for (const name of readdirSync(directory)) rmSync(join(directory, name));
      return exec.call(this, sql);
    });
    announceHere();
    expect(running()).toEqual([{ process: process.pid, is: 'running' }]);
    expect(readdirSync(directory)).toHaveLength(2);
  });
});

it('is begun anew where somebody removed the file before SQLite could open it', () => {
  const { closeSync } = fs;
  const close = vi.spyOn(fs, 'closeSync').mockImplementationOnce((made) => {
    closeSync(made);
    for (const name of readdirSync(directory)) rmSync(join(directory, name));
  });
  syncBuiltinESMExports();
  try {
    announceHere();
  } finally {
    close.mockRestore();
    syncBuiltinESMExports();
  }
  expect(running()).toEqual([{ process: process.pid, is: 'running' }]);
  expect(readdirSync(directory)).toHaveLength(2);
});

describe('of one that ended', () => {
  it.each(['', '{"process":1', '\0'.repeat(100)])('is removed whatever it says (%j)', async (text) => {
    writeFileSync(left(), '');
    if (text !== '') writeFileSync(`${left()}.json`, text);
    expect(await askStatus(directory)).toEqual({ readers: [], silent: [] });
    expect(readdirSync(directory)).toEqual([]);
  });

  it('is not made anew by those who ask for it after it went', async () => {
    writeFileSync(left(), '');
    const [reader] = announcedReaders(directory);
    rmSync(left());
    const seen: (string | null)[] = [];
    const watcher = watch(directory, (_, name) => seen.push(name));
    cleanUp.add(async () => watcher.close());
    expect(reader?.state()).toBe('ended');
    writeFileSync(join(directory, 'last'), '');
    await expect.poll(() => seen).toContain('last');
    expect(seen.filter((name) => name !== 'last')).toEqual([]);
  });
});

it('is nothing that no Reader makes: pipes, folders and links are not opened', async () => {
  spawnSync('mkfifo', [left()]);
  mkdirSync(join(directory, 'reader.run-1123456789'));
  writeFileSync(join(directory, 'file'), '');
  symlinkSync(join(directory, 'file'), join(directory, 'reader.run-2123456789'));
  expect(readdirSync(directory)).toHaveLength(4);
  expect([announcedReaders(directory), await tellReaders(directory, { do: 'lock' })]).toEqual([[], []]);
  expect(readdirSync(directory)).toHaveLength(4);
});

it('is not taken for none where nobody can say who runs', () => {
  const loop = join(directory, 'loop');
  symlinkSync(loop, loop);
  expect(() => announcedReaders(loop)).toThrow(expect.objectContaining({ code: 'store-unusable' }));
});

it('is not taken for none where a socket cannot be asked, and says no more than its name', async () => {
  vi.stubEnv('XDG_RUNTIME_DIR', directory);
  const socket = socketOf(directory, '0123456789');
  expect(makeSocketFolder(socket)).toBe(true);
  symlinkSync(socket, socket); // neither missing nor refusing
  expect(await tellReaders(directory, { do: 'lock' })).toMatchObject([{ code: 'reader-unreachable' }]);
});

it('is no reason to tell a passphrase to whoever listens in a folder that others can enter', async () => {
  const folder = join(directory, 'wispr');
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  vi.stubEnv('XDG_RUNTIME_DIR', directory);
  const announcement = announceHere();
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.end('{"locked":false}\n');
  });
  await once(server.listen(announcement.socket), 'listening');
  cleanUp.add(() => new Promise((resolve) => server.close(resolve)));
  const told = await tellReaders(directory, { do: 'unlock', passphrase: 'secret' });
  expect([told, connections]).toMatchObject([[{ code: 'reader-unreachable', process: process.pid }], 0]);
});

it('is looked for where there is no folder, and among other files', async () => {
  writeFileSync(join(directory, 'reader.run-0123456789-journal'), '');
  expect([running(), announcedReaders(join(directory, 'none'))]).toEqual([[], []]);
  const program = await another();
  await program.stop('SIGKILL');
  await dropDead(directory);
  expect(readdirSync(directory)).toEqual(['reader.run-0123456789-journal']);
  expect(() => announce(join(directory, 'none'))).toThrow(expect.objectContaining({ code: 'store-unusable' }));
  expect(existsSync(join(directory, 'none'))).toBe(false);
});
