/**
 * Which Readers run on a database: each keeps a small file beside it, and a lock on that. The system takes the lock back however a process
 * ends, and while it lives nobody else does, so whoever can have the lock knows that this Reader is gone. A socket that is not found says
 * nothing of the kind: the folder of a session goes at its end, and not every Reader has one.
 *
 * The file that is locked stays empty, so there is nothing in it that could be cut or damaged, and keep the lock from being asked for. Where the
 * Reader can be found stands in a file beside it, on which nothing depends that has to be right.
 */
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes } from '#primitives';
import { toHex } from '../../core/encoding/hex.ts';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';
import { FileLock, type LockState, lockState } from './file-lock.ts';
import { socketOf } from './socket-place.ts';
import { readWhereabouts, type Whereabouts, whereaboutsFile, writeWhereabouts } from './whereabouts.ts';

const PREFIX = 'reader.run-';
const NAME = /^reader\.run-[0-9a-f]{10}$/;
const NAME_LENGTH = 5;
/** What the system says of a folder that there is none of. */
const NOWHERE: readonly (string | undefined)[] = ['ENOENT', 'ENOTDIR'];

/** That this process is a Reader on a database, known to all programs until it is closed. */
export interface Announcement {
  /** Where this Reader shall be asked. */
  readonly socket: string;
  close(): void;
}

/** Another process, as it announced itself. What the file does not tell, or not for this machine, is `undefined`. */
export interface AnnouncedReader extends Partial<Whereabouts> {
  /** By which it is known. */
  readonly file: string;
  /** The files of one that has ended are removed. */
  state(): LockState;
}

/** A lock goes with the object that has it, so none may be collected. By their files. */
const held = new Map<string, FileLock>();

/** @throws ReaderError `store-unusable` */
export function announce(directory: string): Announcement {
  for (;;) {
    const name = toHex(randomBytes(NAME_LENGTH));
    const [file, socket] = [join(directory, PREFIX + name), socketOf(directory, name)];
    const lock = FileLock.take(file);
    if (lock === undefined) continue; // somebody took the file for one that was left, before it was locked
    held.set(file, lock);
    try {
      writeWhereabouts(file, socket);
      return { socket, close: () => letGo(file) };
    } catch (error) {
      letGo(file);
      throw error;
    }
  }
}

function letGo(file: string): void {
  const lock = held.get(file);
  if (lock === undefined) return;
  held.delete(file);
  try {
    removeFiles(file);
  } finally {
    lock.close();
  }
}

/** By whoever has the lock only. The file that is locked goes last: without it, nobody would find the other. */
function removeFiles(file: string): void {
  for (const path of [whereaboutsFile(file), file]) rmSync(path, { force: true });
}

/**
 * All that were announced for a database, in its folder; those included that ended without a word.
 *
 * @throws ReaderError `store-unusable` where nobody can say which those are
 */
export function announcedReaders(directory: string): AnnouncedReader[] {
  const files = namesIn(directory)
    .filter((name) => NAME.test(name))
    .map((name) => join(directory, name))
    .filter(isFile);
  return files.map((file) => ({ file, ...readWhereabouts(file), state: () => stateOf(file) }));
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (cause) {
    if (NOWHERE.includes(systemCode(cause))) return [];
    throw new ReaderError('store-unusable', `${directory} cannot be looked at: ${systemReason(cause)}`, {
      cause,
      hint: 'whether a Reader runs is not known: check the permissions of the folder',
    });
  }
}

/** What no Reader made must not be opened: a pipe would let whoever opens it wait for ever. */
function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function stateOf(file: string): LockState {
  return held.has(file) ? 'running' : lockState(file, () => removeFiles(file));
}
