/**
 * The way from the command line to a Reader that runs: a socket in a folder that only its owner can enter, one line of JSON each way. Not by
 * the Reader's port: whoever listens there while no Reader runs would be given the passphrase.
 */
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { CodedError, reasonOf } from '../../core/errors.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';

/** In the folder of the database. */
export const CONTROL_FOLDER = 'run';
const NAME = /^reader-\d+\.sock$/;
/** `sun_path` of unix(7), without the zero at its end; the least of all systems. */
const MAXIMUM_PATH = 103;

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

/** Listens for requests until it is closed. Nothing where the system, or the length of the path, has no such sockets. */
export async function openControl(directory: string, reader: Lockable): Promise<{ close(): Promise<void> }> {
  const folder = join(directory, CONTROL_FOLDER);
  const path = join(folder, `reader-${process.pid}.sock`);
  if (process.platform === 'win32' || Buffer.byteLength(path) > MAXIMUM_PATH) return { close: async () => undefined };
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if ((statSync(folder).mode & 0o077) !== 0)
    throw new ReaderError('store-exposed', `other users of this machine can enter ${folder}`, {
      hint: `chmod 700 ${folder}`,
    });
  rmSync(path, { force: true }); // of a process that had this number before
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    serve(socket, reader);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
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
  const folder = join(directory, CONTROL_FOLDER);
  const outcomes = await Promise.all(socketsIn(folder).map((name) => tell(join(folder, name), request)));
  return outcomes.filter((outcome) => outcome !== undefined);
}

function socketsIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => NAME.test(name));
  } catch {
    return []; // no Reader ever ran here
  }
}

async function tell(path: string, request: ControlRequest): Promise<ControlOutcome | undefined> {
  const socket = connect(path);
  try {
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  } catch (error) {
    if (systemCode(error) === 'ECONNREFUSED') rmSync(path, { force: true });
    return undefined;
  }
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
