/**
 * What a Reader that runs answers to the command line: a socket in a folder that only its owner can enter, one line of JSON each way. Not by
 * the Reader's port: browsers reach that, and whoever listens there while no Reader runs would be given the passphrase.
 */
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { CodedError, reasonOf } from '../../core/errors.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { ReaderStatus } from '../status/status.ts';
import { dropDead } from './ask-readers.ts';
import type { ReaderAnswer, ReaderRequest } from './contract.ts';
import { readLine } from './lines.ts';
import { makeSocketFolder, socketOf } from './socket-place.ts';

/** A Reader, as its requests need it. */
export interface AskedReader {
  status(): Promise<ReaderStatus>;
  readonly lock: {
    readonly isLocked: boolean;
    lock(): Promise<void>;
    unlock(passphrase?: string): Promise<void>;
  };
}

const NOTHING = { close: async () => undefined };

/** Listens for requests until it is closed. Nothing where the system has no such sockets, or no place for them that is this user's own. */
export async function serveRequests(directory: string, reader: AskedReader): Promise<{ close(): Promise<void> }> {
  const path = socketOf(directory, process.pid);
  if (process.platform === 'win32' || makeSocketFolder(path) === undefined) return NOTHING;
  rmSync(path, { force: true }); // of a process that had this number before
  await dropDead(directory);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    serve(socket, reader);
  });
  if (!(await listenThere(server, path))) return NOTHING; // reading does not depend on it
  return {
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function listenThere(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false)).listen(path, () => resolve(true));
  });
}

async function serve(socket: Socket, reader: AskedReader): Promise<void> {
  socket.end(`${JSON.stringify(await answerTo(socket, reader))}\n`);
}

async function answerTo(socket: Socket, reader: AskedReader): Promise<ReaderAnswer> {
  try {
    const line = await readLine(socket, { timeout: LIMITS.controlTimeout, length: LIMITS.controlMessage });
    return await obey(JSON.parse(line) as ReaderRequest, reader);
  } catch (error) {
    return { error: reasonOf(error), code: error instanceof CodedError ? error.code : 'internal' };
  }
}

async function obey(request: ReaderRequest, { lock, status }: AskedReader): Promise<ReaderAnswer> {
  if (request.do === 'status') return { locked: lock.isLocked, status: await status() };
  if (request.do === 'lock') await lock.lock();
  else if (request.do === 'unlock') await lock.unlock(request.passphrase);
  else throw new ReaderError('bad-request', 'the request is none that a Reader knows');
  return { locked: lock.isLocked };
}
