/** Asks the Readers that run on a database. */
import { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { reasonOf } from '../../core/errors.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { LIMITS } from '../limits.ts';
import type { ReaderStatus } from '../status/status.ts';
import type { ReaderAnswer, ReaderRequest } from './contract.ts';
import { readLine } from './lines.ts';
import { socketsOf } from './socket-place.ts';

/** Asks every Reader that runs on this database; those that were killed leave a name behind, which is removed. */
export async function tellReaders(directory: string, request: ReaderRequest): Promise<ReaderAnswer[]> {
  return askAll(directory, request, { timeout: LIMITS.controlTimeout, length: LIMITS.controlMessage });
}

/** `undefined` where none runs with this database, or none that this user may ask. */
export async function askStatus(directory: string): Promise<ReaderStatus | undefined> {
  const answers = await askAll(
    directory,
    { do: 'status' },
    { timeout: LIMITS.statusTimeout, length: LIMITS.statusLength },
  );
  return answers
    .map((answer) => ('status' in answer ? answer.status : undefined))
    .find((status) => status !== undefined);
}

/** Removes the names that killed Readers left. */
export async function dropDead(directory: string): Promise<void> {
  await Promise.all(socketsOf(directory).map(async (path) => (await reach(path))?.destroy()));
}

type Limits = Parameters<typeof readLine>[1];

async function askAll(directory: string, request: ReaderRequest, limits: Limits): Promise<ReaderAnswer[]> {
  if (process.platform === 'win32') return [];
  const answers = await Promise.all(socketsOf(directory).map((path) => ask(path, request, limits)));
  return answers.filter((answer) => answer !== undefined);
}

async function ask(path: string, request: ReaderRequest, limits: Limits): Promise<ReaderAnswer | undefined> {
  const socket = await reach(path);
  if (socket === undefined) return undefined;
  try {
    socket.write(`${JSON.stringify(request)}\n`);
    return JSON.parse(await readLine(socket, limits)) as ReaderAnswer;
  } catch (error) {
    return { error: reasonOf(error), code: 'internal' };
  } finally {
    socket.destroy();
  }
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
