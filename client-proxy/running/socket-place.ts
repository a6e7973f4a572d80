/** Where Readers that run can be asked: Unix sockets in a folder that only its user may enter; the system keeps other users out. */
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Of a Reader that starts now. Its name is as long as another, however long the folder's: sockets have a hundred bytes for their whole path. */
export function socketOf(dataDirectory: string, reader: string, environment?: Environment): string {
  return join(socketFolder(environment), `${prefixOf(dataDirectory)}${reader}.sock`);
}

/** Of the Readers on this database that have the same session as this process: those that run, and those that were killed. */
export function socketsOf(dataDirectory: string, environment?: Environment): string[] {
  const [folder, prefix] = [socketFolder(environment), prefixOf(dataDirectory)];
  if (!isOwn(folder)) return []; // no Reader ever ran here, or another user made the folder
  const names = readdirSync(folder).filter((name) => name.startsWith(prefix) && name.endsWith('.sock'));
  return names.map((name) => join(folder, name));
}

function prefixOf(dataDirectory: string): string {
  return `${createHash('sha256').update(realPath(dataDirectory)).digest('hex').slice(0, 24)}-`;
}

/** Makes the folder of a socket. @returns `false` if others can get at it, or nothing can be made */
export function makeSocketFolder(socket: string): boolean {
  const folder = dirname(socket);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
  }
  return isOwn(folder);
}

/** Whether a socket is in a folder that others cannot get at. */
export function isOwnSocket(socket: string): boolean {
  return isOwn(dirname(socket));
}

/** Whether the folder is this user's own, and no other's: in a folder for temporary files anybody may have made it. */
function isOwn(folder: string): boolean {
  try {
    const found = lstatSync(folder);
    return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
  } catch {
    return false;
  }
}

/** The session's own folder, which goes when the user logs out; without a session, a folder of this user for temporary files. */
function socketFolder({ XDG_RUNTIME_DIR: runtime = '' }: Environment = process.env): string {
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
