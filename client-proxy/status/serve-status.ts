/** Tells whoever may ask how this Reader is: one line of JSON for each connection, which says nothing itself. */
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { askStatus } from './ask-status.ts';
import { listenThere, makeSocketFolder, statusSocket } from './socket-place.ts';
import type { ReaderStatus } from './status.ts';

export interface ServedStatus {
  close(): Promise<void>;
}

/**
 * Answers until it is closed. `undefined` where that is not possible: another Reader with the same database answers already, or there is no
 * place for it. Reading does not depend on it.
 */
export async function serveStatus(
  dataDirectory: string,
  status: () => Promise<ReaderStatus>,
): Promise<ServedStatus | undefined> {
  const socket = statusSocket(dataDirectory);
  if (process.platform === 'win32' || makeSocketFolder(socket) === undefined) return undefined;
  if ((await askStatus(dataDirectory)) !== undefined) return undefined;
  rmSync(socket, { force: true }); // nobody answers: one that was killed left it
  const server = createServer((connection) => {
    connection.on('error', () => connection.destroy());
    connection.resume();
    status().then(
      (known) => connection.end(`${JSON.stringify(known)}\n`),
      () => connection.destroy(),
    );
  });
  return (await listenThere(server, socket))
    ? { close: () => new Promise((done) => server.close(() => done())) }
    : undefined;
}
