import { execFileSync } from 'node:child_process';
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { ServerName } from './parameters.ts';
import { SERVERS } from './programs.ts';

/** Debian has them here, and does not put these into the PATH of an ordinary user. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin'];

/** Finds the path of a program in PATH or in the system's folders; `undefined` if there is none. */
export function findServer(program: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));
  return [...folders, ...SYSTEM_FOLDERS].map((folder) => join(folder, program)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The version that the program says it is, like `7.1.1`; `unknown` if it says nothing of the kind. */
export function serverVersion(name: ServerName, path: string): string {
  const [flag, pattern] = SERVERS[name].version;
  // Programs may answer on standard error, or on both.
  const said = execFileSync('/bin/sh', ['-c', '"$0" "$1" 2>&1', path, flag], { encoding: 'utf8' });
  return pattern.exec(said)?.[1] ?? 'unknown';
}

export interface User {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** The first of these users that exists. */
export function findUser(names: readonly string[]): User | undefined {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of names) {
    const fields = users.find((line) => line.startsWith(`${name}:`))?.split(':');
    if (fields) return { name, uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  return undefined;
}
