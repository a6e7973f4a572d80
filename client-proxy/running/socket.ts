/**
 * The socket on which commands reach the Reader that runs on a database: in a folder beside the database that only its owner can enter. Not by
 * the Reader's port: browsers reach that, and any program that listens there while no Reader runs would be given the passphrase.
 */
import { lstatSync, mkdirSync, rmdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { reasonOf } from '../../core/errors.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { LIMITS } from '../limits.ts';

export const SOCKET_FOLDER = 'running';
/** `sun_path` of unix(7), and of macOS, which has less. */
const LONGEST_PATH = 103;

function pathIn(directory: string): string {
  return join(resolve(directory), SOCKET_FOLDER, 'socket');
}

/** `undefined` where no Reader listens. @throws the system's error for a Reader that runs and takes no connection */
export async function reach(directory: string): Promise<Socket | undefined> {
  const path = pathIn(directory);
  if (!isOwn(join(path, '..'))) return undefined;
  const socket = connect(path);
  try {
    await new Promise<void>((done, reject) => socket.once('connect', done).on('error', reject));
    return socket;
  } catch (error) {
    if (['ENOENT', 'ECONNREFUSED'].includes(systemCode(error) ?? '')) return undefined;
    throw error;
  }
}

export interface CommandSocket {
  /** Reason why commands cannot reach this Reader, in a sentence for its reader; `undefined` where they can. Reading does not depend on it. */
  readonly problem: string | undefined;
  close(): Promise<void>;
}

/** Listens for commands. A socket that is there is of a Reader that was killed: this process has the database. */
export async function openSocket(directory: string, serve: (socket: Socket) => Promise<void>): Promise<CommandSocket> {
  const path = pathIn(directory);
  if (process.platform === 'win32') return unreached('this system has no sockets for it');
  if (Buffer.byteLength(path) > LONGEST_PATH) return unreached(`the path ${path} is too long for a socket`);
  const sockets = new Set<Socket>();
  const accept = (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    void serve(socket);
  };
  try {
    makeFolder(join(path, '..'));
    rmSync(path, { force: true });
    const server = await listen(path, accept);
    return { problem: undefined, close: () => close(server, sockets, path) };
  } catch (error) {
    return unreached(reasonOf(error));
  }
}

function unreached(why: string): CommandSocket {
  const problem = `warning: commands such as "wispr bind" cannot reach this Reader: ${why}`;
  return { problem, close: async () => undefined };
}

async function close(server: Server, sockets: ReadonlySet<Socket>, path: string): Promise<void> {
  const closed = new Promise<void>((done) => server.close(() => done()));
  for (const socket of sockets) socket.destroy();
  await closed;
  try {
    rmdirSync(join(path, '..'));
  } catch {
    // something else is in it, or it is gone
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
  if (!isOwn(folder)) throw new Error(`${folder} is not yours alone`);
}

/** Tells whether a folder is this user's own, and no other's. */
function isOwn(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}

async function listen(path: string, take: (socket: Socket) => void): Promise<Server> {
  const server = createServer(take);
  server.maxConnections = LIMITS.controlConnections;
  await new Promise<void>((done, reject) => server.once('error', reject).listen(path, done));
  return server;
}
