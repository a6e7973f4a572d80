/**
 * What a Reader that runs answers to the command line: a socket in a folder that only its owner can enter, one line of JSON each way. Not by
 * the Reader's port: browsers reach that, and whoever listens there while no Reader runs would be given the passphrase.
 */
import type { Socket } from 'node:net';
import { CodedError, reasonOf } from '../../core/errors.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { ReaderStatus } from '../status/status.ts';
import type { ReaderAnswer, ReaderRequest } from './contract.ts';
import { ControlSocket } from './control-socket.ts';
import { readLine } from './lines.ts';

/** A Reader, as its requests need it. */
export interface AskedReader {
  /** Of its proxy: which one this is, where several run on a database. */
  readonly url: string;
  status(): Promise<ReaderStatus>;
  readonly lock: {
    readonly isLocked: boolean;
    lock(): Promise<void>;
    unlock(passphrase?: string): Promise<void>;
  };
}

/** Listens for requests at `path` until it is closed; reading does not depend on it. */
export async function serveRequests(path: string, reader: AskedReader): Promise<ControlSocket> {
  const control = new ControlSocket(path, (socket) => serve(socket, reader));
  await control.open();
  return control;
}

async function serve(socket: Socket, reader: AskedReader): Promise<void> {
  const answer = await answerTo(socket, reader);
  // Nothing more is taken from the other side, nor waited for: it may send or stay for as long as it likes.
  const timer = setTimeout(() => socket.destroy(), LIMITS.controlTimeout).unref();
  socket.once('close', () => clearTimeout(timer));
  socket.end(`${JSON.stringify(answer)}\n`);
  socket.destroySoon();
}

async function answerTo(socket: Socket, reader: AskedReader): Promise<ReaderAnswer> {
  try {
    const line = await readLine(socket, { timeout: LIMITS.controlTimeout, length: LIMITS.controlMessage });
    return await obey(JSON.parse(line) as ReaderRequest, reader);
  } catch (error) {
    const { code = 'internal', remedy: hint } = error instanceof CodedError ? error : {};
    return { url: reader.url, error: reasonOf(error), code, ...(hint !== undefined && { hint }) };
  }
}

async function obey(request: ReaderRequest, { url, lock, status }: AskedReader): Promise<ReaderAnswer> {
  if (request.do === 'status') return { url, locked: lock.isLocked, status: await status() };
  if (request.do === 'lock') await lock.lock();
  else if (request.do === 'unlock') await lock.unlock(request.passphrase);
  else throw new ReaderError('bad-request', 'the request is none that a Reader knows');
  return { url, locked: lock.isLocked };
}
