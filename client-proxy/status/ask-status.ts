/** Asks a running Reader how it is. */
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { LIMITS } from '../limits.ts';
import { isOwn, statusSocket } from './socket-place.ts';
import type { ReaderStatus } from './status.ts';

/** `undefined` where none runs with this database, or none that this user may ask. */
export async function askStatus(dataDirectory: string): Promise<ReaderStatus | undefined> {
  const socket = statusSocket(dataDirectory);
  if (process.platform === 'win32' || !isOwn(dirname(socket))) return undefined;
  const answer = await readAll(socket);
  if (answer === undefined) return undefined;
  try {
    return JSON.parse(answer) as ReaderStatus;
  } catch {
    return undefined; // it ended while it spoke
  }
}

function readAll(socket: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const connection = connect(socket).setEncoding('utf8').setTimeout(LIMITS.statusTimeout);
    const give = (answer: string | undefined) => {
      resolve(answer);
      connection.destroy();
    };
    connection.on('data', (part) => {
      text += part;
      if (text.length > LIMITS.statusLength) give(undefined);
    });
    connection.on('error', () => give(undefined)).on('timeout', () => give(undefined));
    connection.on('end', () => give(text));
  });
}
