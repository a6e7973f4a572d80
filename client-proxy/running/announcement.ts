/**
 * Which Readers run on a database: each keeps a small file beside it, and a lock on that. The system takes the lock back however a process
 * ends, and while it lives nobody else does, so whoever can have the lock knows that this Reader is gone. A socket that is not found says
 * nothing of the kind: the folder of a session goes at its end, and not every Reader has one.
 */
import { closeSync, existsSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { randomBytes } from '#primitives';
import { toHex } from '../../core/encoding/hex.ts';
import { LIMITS } from '../limits.ts';
import { unwritable } from '../store/database.ts';
import { socketOf } from './socket-place.ts';

const PREFIX = 'reader.run-';
const NAME = /^reader\.run-[0-9a-f]{10}$/;
const NAME_LENGTH = 5;
const SCHEMA =
  'PRAGMA journal_mode = MEMORY; CREATE TABLE reader (process INTEGER NOT NULL, socket TEXT NOT NULL) STRICT;';

/** That this process is a Reader on a database, known to all programs until it is closed. */
export interface Announcement {
  /** Where this Reader shall be asked. */
  readonly socket: string;
  close(): void;
}

/** Another process, as it announced itself. */
export interface AnnouncedReader {
  /** By which it is known. */
  readonly file: string;
  /** `undefined` where the file does not tell. */
  readonly process: number | undefined;
  readonly socket: string | undefined;
  /** Whether its process has not ended. The file of one that has is removed. */
  isRunning(): boolean;
}

/** A lock goes with the object that has it, so none may be collected. */
const held = new Set<DatabaseSync>();

/** @throws ReaderError `store-unusable` */
export function announce(directory: string): Announcement {
  for (;;) {
    const name = toHex(randomBytes(NAME_LENGTH));
    const [path, socket] = [join(directory, PREFIX + name), socketOf(directory, name)];
    const database = hold(path, socket);
    if (database === undefined) continue;
    held.add(database);
    return { socket, close: () => letGo(path, database) };
  }
}

/** `undefined` where somebody took the file for one that was left, before it was locked. */
function hold(path: string, socket: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined;
  try {
    closeSync(openSync(path, 'wx', 0o600));
    database = new DatabaseSync(path, { timeout: LIMITS.announcementWait });
    database.exec(SCHEMA);
    database.prepare('INSERT INTO reader VALUES (?, ?)').run(process.pid, socket);
    database.exec('BEGIN IMMEDIATE'); // others can read, and have no such lock
    if (existsSync(path)) return database; // it is removed by those only who have the lock
    database.close();
    return undefined;
  } catch (error) {
    database?.close();
    rmSync(path, { force: true });
    throw unwritable(error);
  }
}

function letGo(path: string, database: DatabaseSync): void {
  if (!held.delete(database)) return;
  try {
    rmSync(path, { force: true });
  } finally {
    database.close();
  }
}

/** All that were announced for a database, in its folder; those included that ended without a word. */
export function announcedReaders(directory: string): AnnouncedReader[] {
  if (!existsSync(directory)) return [];
  const names = readdirSync(directory).filter((name) => NAME.test(name));
  return names.map((name) => {
    const path = join(directory, name);
    return { file: path, ...read(path), isRunning: () => isHeld(path) };
  });
}

function read(path: string): Pick<AnnouncedReader, 'process' | 'socket'> {
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: LIMITS.announcementWait });
    try {
      const row = database.prepare('SELECT process, socket FROM reader').get();
      return { process: row && Number(row.process), socket: row && String(row.socket) };
    } finally {
      database.close();
    }
  } catch {
    return { process: undefined, socket: undefined }; // not written yet, or gone; the lock decides
  }
}

/** Where the lock cannot be asked for, the Reader counts as running. */
function isHeld(path: string): boolean {
  let database: DatabaseSync | undefined;
  try {
    const existing = new URL(`${pathToFileURL(path)}?mode=rw`); // one that went meanwhile is not made anew
    database = new DatabaseSync(existing, { timeout: LIMITS.announcementWait });
    database.exec('BEGIN IMMEDIATE');
    rmSync(path, { force: true });
    return false;
  } catch {
    return existsSync(path);
  } finally {
    database?.close();
  }
}
