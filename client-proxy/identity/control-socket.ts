/**
 * The way from the command line to a Reader that runs: a socket in a folder that only its owner can enter, one line of JSON each way. Not by
 * the Reader's port: whoever listens there while no Reader runs would be given the passphrase.
 */
import { readdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { CodedError, reasonOf } from '../../core/errors.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { isOwn, listenThere, makeSocketFolder, statusSocket } from '../status/socket-place.ts';

const NOTHING = { close: async () => undefined };

/** What can be asked of a Reader that runs. */
export type ControlRequest = { readonly do: 'lock' } | { readonly do: 'unlock'; readonly passphrase?: string };

interface ControlAnswer {
  readonly locked?: boolean;
  readonly error?: string;
  readonly code?: string;
}

export interface Lockable {
  readonly isLocked: boolean;
  lock(): Promise<void>;
  unlock(passphrase?: string): Promise<void>;
}

/** Listens for requests until it is closed. Nothing where the system has no such sockets, or no place for them that is this user's own. */
export async function openControl(directory: string, reader: Lockable): Promise<{ close(): Promise<void> }> {
  const path = controlSocket(directory, process.pid);
  if (process.platform === 'win32' || makeSocketFolder(path) === undefined) return NOTHING;
  rmSync(path, { force: true }); // of a process that had this number before
  await Promise.all(controlSockets(directory).map(async (other) => (await reach(other))?.destroy()));
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

async function serve(socket: Socket, reader: Lockable): Promise<void> {
  try {
    const line = await readLine(socket, LIMITS.controlTimeout);
    await obey(JSON.parse(line) as ControlRequest, reader);
    socket.end(`${JSON.stringify({ locked: reader.isLocked } satisfies ControlAnswer)}\n`);
  } catch (error) {
    const code = error instanceof CodedError ? error.code : 'internal';
    socket.end(`${JSON.stringify({ error: reasonOf(error), code } satisfies ControlAnswer)}\n`);
  }
}

async function obey(request: ControlRequest, reader: Lockable): Promise<void> {
  if (request.do === 'lock') await reader.lock();
  else if (request.do === 'unlock') await reader.unlock(request.passphrase);
  else throw new ReaderError('bad-request', 'the request is none that a Reader knows');
}

/** What came of a request to one Reader. */
export type ControlOutcome =
  | { readonly locked: boolean }
  /** `code`: of docs/errors.md. */
  | { readonly error: string; readonly code: string };

/** Asks every Reader that runs on this database; those that were killed leave a name behind, which is removed. */
export async function tellReaders(directory: string, request: ControlRequest): Promise<ControlOutcome[]> {
  const outcomes = await Promise.all(controlSockets(directory).map((path) => tell(path, request)));
  return outcomes.filter((outcome) => outcome !== undefined);
}

/** One for each process, beside the one that tells how a Reader is. */
function controlSocket(directory: string, process: number | string): string {
  return statusSocket(directory).replace(/\.sock$/, `-${process}.sock`);
}

function controlSockets(directory: string): string[] {
  const [folder, pattern] = [dirname(controlSocket(directory, '')), basename(controlSocket(directory, '#'))];
  const [start = '', end = ''] = pattern.split('#');
  if (!isOwn(folder)) return []; // no Reader ever ran here, or another user made the folder
  const names = readdirSync(folder).filter((name) => name.startsWith(start) && name.endsWith(end));
  return names.map((name) => join(folder, name));
}

/** `undefined` where nobody answers; the name that a Reader left that was killed is removed. */
async function reach(path: string): Promise<Socket | undefined> {
  const socket = connect(path);
  try {
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return socket;
  } catch (error) {
    if (systemCode(error) === 'ECONNREFUSED') rmSync(path, { force: true });
    return undefined;
  }
}

async function tell(path: string, request: ControlRequest): Promise<ControlOutcome | undefined> {
  const socket = await reach(path);
  if (socket === undefined) return undefined;
  try {
    socket.write(`${JSON.stringify(request)}\n`);
    const answer = JSON.parse(await readLine(socket, LIMITS.controlTimeout)) as ControlAnswer;
    if (answer.error !== undefined) return { error: answer.error, code: answer.code ?? 'internal' };
    return { locked: answer.locked === true };
  } catch (error) {
    return { error: reasonOf(error), code: 'internal' };
  } finally {
    socket.destroy();
  }
}

function readLine(socket: Socket, timeout: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(() => reject(new Error('no answer in time')), timeout);
    const end = (work: () => void) => {
      clearTimeout(timer);
      work();
    };
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (text.length > LIMITS.controlMessage) end(() => reject(new Error('too long')));
      else if (text.includes('\n')) end(() => resolve(text.slice(0, text.indexOf('\n'))));
    });
    socket.once('error', (error) => end(() => reject(error)));
    socket.once('close', () => end(() => reject(new Error('the other side ended'))));
  });
}
