/** Where a Reader that announced itself can be found, in a file beside the one that it has locked. Believed only where that lock is held. */
import { lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { isJsonObject } from '../../core/encoding/canonical-json.ts';
import { processSpace } from '../../node-support/boot.ts';
import { LIMITS } from '../limits.ts';
import { unmarked } from './file-lock.ts';

export interface Whereabouts {
  /** Its number, where it is a number of this machine and this name space: elsewhere it is another process's, or nobody's. */
  readonly process: number;
  /** Where it can be asked. */
  readonly socket: string;
}

/** @param locked - the file that the Reader has locked */
export function whereaboutsFile(locked: string): string {
  return `${locked}.json`;
}

/** Of this process. @throws ReaderError `store-unusable`, `disk-full` */
export function writeWhereabouts(locked: string, socket: string): void {
  const text = JSON.stringify({ process: process.pid, space: processSpace(), socket });
  try {
    writeFileSync(whereaboutsFile(locked), text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw unmarked(error, locked);
  }
}

/** Nothing of what is not written yet, was cut, or is gone. */
export function readWhereabouts(locked: string): Partial<Whereabouts> {
  const told = parse(whereaboutsFile(locked));
  const [space, here] = [told.space, processSpace()];
  const isHere = here !== undefined && space === here;
  return {
    ...(isHere && Number.isSafeInteger(told.process) && { process: Number(told.process) }),
    ...(typeof told.socket === 'string' && { socket: told.socket }),
  };
}

function parse(path: string): Readonly<Record<string, unknown>> {
  try {
    const found = lstatSync(path); // a pipe would let whoever opens it wait for ever
    if (!found.isFile() || found.size > LIMITS.whereaboutsLength) return {};
    const told: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isJsonObject(told) ? told : {};
  } catch {
    return {};
  }
}
