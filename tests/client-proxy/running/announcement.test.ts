/** Whether a Reader runs on a database, as its lock says it: of processes that live, hang, and were killed. */
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { announce, announcedReaders } from '../../../client-proxy/running/announcement.ts';
import { dropDead, tellReaders } from '../../../client-proxy/running/ask-readers.ts';
import { ROOT, type RunningProgram, startCommand } from '../../support/programs.ts';
import { CleanUp, temporaryFolder } from '../../support/reader-rig.ts';

const cleanUp = new CleanUp();
let directory: string;
beforeEach(async () => {
  directory = await temporaryFolder(cleanUp);
});
afterEach(() => {
  vi.unstubAllEnvs();
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

const running = () =>
  announcedReaders(directory).map((reader) => ({ process: reader.process, is: reader.isRunning() }));

it('is known of this process until it is closed, and leaves nothing', () => {
  const announcement = announce(directory);
  const [name = ''] = readdirSync(directory);
  expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
  expect(announcedReaders(directory)).toMatchObject([{ process: process.pid, socket: announcement.socket }]);
  expect(running()).toEqual([{ process: process.pid, is: true }]);
  announcement.close();
  expect(readdirSync(directory)).toEqual([]);
  announcement.close();
});

it('is known of several Readers, each by itself', () => {
  const [first, second] = [announce(directory), announce(directory)];
  expect(running()).toHaveLength(2);
  first.close();
  expect(running()).toEqual([{ process: process.pid, is: true }]);
  second.close();
});

it('is true of a process that hangs, and false of one that was killed, whose file goes', async () => {
  const program = await another();
  expect(running()).toEqual([{ process: program.pid, is: true }]);
  process.kill(program.pid, 'SIGSTOP');
  expect(running()).toEqual([{ process: program.pid, is: true }]);
  await program.stop('SIGKILL');
  expect(running()).toEqual([{ process: program.pid, is: false }]);
  expect(readdirSync(directory)).toEqual([]);
});

it('is true of one without a socket, which cannot be told anything', async () => {
  const program = await another();
  expect(await tellReaders(directory, { do: 'lock' })).toEqual([
    { error: expect.any(String), code: 'reader-unreachable', process: program.pid },
  ]);
  await program.stop('SIGKILL');
  expect(await tellReaders(directory, { do: 'lock' })).toEqual([]);
});

it('counts as true where the lock cannot be asked for', async () => {
  writeFileSync(join(directory, 'reader.run-0123456789'), 'x'.repeat(4096));
  expect(running()).toEqual([{ process: undefined, is: true }]);
  expect(await tellReaders(directory, { do: 'lock' })).toEqual([
    { error: expect.any(String), code: 'reader-unreachable' },
  ]);
});

it('is no reason to tell a passphrase to whoever listens in a folder that others can enter', async () => {
  const folder = join(directory, 'wispr');
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  vi.stubEnv('XDG_RUNTIME_DIR', directory);
  const announcement = announce(directory);
  cleanUp.add(async () => announcement.close());
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
