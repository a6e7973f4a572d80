/**
 * Where a running Reader can be asked how it is: a Unix socket in a folder that only its user may enter. Not a port: browsers cannot reach
 * it, and other users of the machine are kept out by the system.
 */
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Its name is as long as another, however long the folder's: sockets have a hundred bytes for their whole path. */
export function statusSocket(dataDirectory: string, environment: Environment = process.env): string {
  const name = createHash('sha256').update(realPath(dataDirectory)).digest('hex').slice(0, 24);
  return join(socketFolder(environment), `${name}.sock`);
}

/** Makes the folder of a socket; `undefined` if others can get at it, or nothing can be made. */
export function makeSocketFolder(socket: string): string | undefined {
  const folder = dirname(socket);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return undefined;
  }
  return isOwn(folder) ? folder : undefined;
}

/** Whether it listens now. */
export function listenThere(server: Server, socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false)).listen(socket, () => resolve(true));
  });
}

/** Whether the folder is this user's own, and no other's: in a folder for temporary files anybody may have made it. */
export function isOwn(folder: string): boolean {
  try {
    const found = lstatSync(folder);
    return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
  } catch {
    return false;
  }
}

/** The session's own folder, which goes when the user logs out; without a session, a folder of this user for temporary files. */
function socketFolder({ XDG_RUNTIME_DIR: runtime = '' }: Environment): string {
  const user = process.getuid?.();
  const session = isAbsolute(runtime) ? runtime : `/run/user/${user}`; // where it is, also for a shell that was not told
  const there = statSync(session, { throwIfNoEntry: false })?.isDirectory();
  return there ? join(session, 'wispr') : join(tmpdir(), `wispr-${user}`);
}

function realPath(directory: string): string {
  try {
    return realpathSync(directory);
  } catch {
    return resolve(directory);
  }
}
