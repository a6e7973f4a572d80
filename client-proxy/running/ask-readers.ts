/** Asks the Readers that run on a database. One that runs and gives no answer is never taken for none. */
import { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { reasonOf } from '../../core/errors.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { ReaderStatus } from '../status/status.ts';
import { type AnnouncedReader, announcedReaders } from './announcement.ts';
import { type ReaderAnswer, type ReaderRequest, type RefusedAnswer, UNREACHABLE } from './contract.ts';
import { readLine } from './lines.ts';
import { isOwnSocket, socketsOf } from './socket-place.ts';

/** Asks every Reader that runs on this database; what those left that were killed is removed. */
export async function tellReaders(directory: string, request: ReaderRequest): Promise<ReaderAnswer[]> {
  return askAll(directory, request, { timeout: LIMITS.controlTimeout, length: LIMITS.controlMessage });
}

/** The Readers that run on a database. */
export interface RunningReaders {
  /** As they say of themselves; the one that was started first comes first. */
  readonly readers: readonly ReaderStatus[];
  /** What became of the question to those that do not say how they are. */
  readonly silent: readonly RefusedAnswer[];
}

/**
 * All that run on this database.
 *
 * @throws ReaderError `reader-unreachable` where one runs, and none says how it is
 */
export async function askStatus(directory: string): Promise<RunningReaders> {
  const running = await askStatusInPassing(directory);
  const [silent] = running.silent;
  if (running.readers.length === 0 && silent !== undefined) throw unreachable(silent);
  return running;
}

/** The same where it makes no difference whether one runs that says nothing. */
export async function askStatusInPassing(directory: string): Promise<RunningReaders> {
  const limits = { timeout: LIMITS.statusTimeout, length: LIMITS.statusLength };
  const answers = await askAll(directory, { do: 'status' }, limits);
  const readers = answers.map((answer) => ('status' in answer ? answer.status : undefined));
  return {
    readers: readers.filter((status) => status !== undefined).sort((one, other) => one.started - other.started),
    silent: answers.filter((_, index) => readers[index] === undefined).map(asRefused),
  };
}

/** Of an answer that is no status. */
function asRefused(answer: ReaderAnswer): RefusedAnswer {
  return 'error' in answer ? answer : { error: 'a Reader runs and does not say how it is', code: UNREACHABLE };
}

/** The error where one that runs does not say how it is. */
export function unreachable({ error, hint }: RefusedAnswer): ReaderError {
  return new ReaderError(UNREACHABLE, error, { ...(hint !== undefined && { hint }) });
}

/** Removes what killed Readers left. */
export async function dropDead(directory: string): Promise<void> {
  await Promise.all(
    readersOf(directory).map(async ({ socket, state }) => {
      const reached = await reach(socket).catch(() => undefined);
      if (reached) reached.destroy();
      else state();
    }),
  );
}

type Limits = Parameters<typeof readLine>[1];

async function askAll(directory: string, request: ReaderRequest, limits: Limits): Promise<ReaderAnswer[]> {
  const answers = await Promise.all(readersOf(directory).map((reader) => ask(reader, request, limits)));
  return answers.filter((answer) => answer !== undefined);
}

/** Those that announced themselves, and sockets that go by the name of the database alone. */
function readersOf(directory: string): AnnouncedReader[] {
  const announced = announcedReaders(directory);
  const known = new Set(announced.map(({ socket }) => socket));
  const others = socketsOf(directory).filter((path) => !known.has(path));
  return [...announced, ...others.map((socket) => ({ file: socket, socket, state: () => 'ended' as const }))];
}

/** `undefined` where the Reader has ended. */
async function ask(reader: AnnouncedReader, request: ReaderRequest, limits: Limits): Promise<ReaderAnswer | undefined> {
  let socket: Socket | undefined;
  try {
    socket = await reach(reader.socket);
    if (socket) {
      socket.write(`${JSON.stringify(request)}\n`);
      return JSON.parse(await readLine(socket, limits)) as ReaderAnswer;
    }
    return silenceOf(reader);
  } catch (error) {
    return silence(reader, reasonOf(error));
  } finally {
    socket?.destroy();
  }
}

/** Of one whose socket is not there: `undefined` where it has ended. */
function silenceOf(reader: AnnouncedReader): ReaderAnswer | undefined {
  switch (reader.state()) {
    case 'ended':
      return undefined;
    case 'running':
      return silence(reader, 'its socket is not there');
    case 'unknown':
      // Its number may be that of another process by now.
      return silence({ file: reader.file }, 'its socket is not there, and its lock cannot be asked for');
  }
}

function silence({ file, process }: Pick<AnnouncedReader, 'file' | 'process'>, why: string): ReaderAnswer {
  const who = process === undefined ? `the Reader that made ${file}` : `the Reader with process ${process}`;
  const hint =
    process === undefined
      ? `end the Readers that use this database, in containers and on other machines, too; if none runs, remove ${file}`
      : `end it, and try again: kill -KILL ${process}`;
  const error = `${who} runs on this database and gave no answer: ${why}`;
  return { error, code: UNREACHABLE, hint, ...(process !== undefined && { process }) };
}

/**
 * `undefined` where nobody listens; the name that a Reader left that was killed is removed. A place that others can get at is left alone:
 * whoever listens there would be given the passphrase.
 */
async function reach(path: string | undefined): Promise<Socket | undefined> {
  if (path === undefined || !isOwnSocket(path)) return undefined;
  const socket = connect(path);
  try {
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).on('error', reject));
    return socket;
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ECONNREFUSED') rmSync(path, { force: true });
    else if (code !== 'ENOENT') throw error;
    return undefined;
  }
}
