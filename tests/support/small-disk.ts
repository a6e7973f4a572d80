/** A small file system of its own that can be filled to the last byte. Mounting takes root, or `sudo`. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../../node-support/system-error.ts';

export interface SmallDisk {
  /** @param room - bytes that stay free */
  fill(room?: number): void;
  makeRoom(): void;
  unmount(): void;
}

/** @param megabytes - its size */
export function mountSmallDisk(folder: string, megabytes = 4): SmallDisk {
  const filler = join(folder, 'filler');
  mkdirSync(folder);
  asRoot('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700,uid=${process.getuid?.()}`, 'tmpfs', folder);
  return {
    fill: (room = 0) => {
      fill(filler);
      if (room > 0) truncateSync(filler, statSync(filler).size - room);
    },
    makeRoom: () => rmSync(filler),
    unmount: () => asRoot('umount', '--lazy', folder),
  };
}

function asRoot(...command: string[]): void {
  const [program = '', ...args] = process.getuid?.() === 0 ? command : ['sudo', '-n', ...command];
  execFileSync(program, args);
}

/** Fills the disk to the last byte. */
function fill(filler: string): void {
  const file = openSync(filler, 'a');
  try {
    for (const size of [65_536, 4096, 1]) while (hasWritten(file, Buffer.alloc(size, 1)));
  } finally {
    closeSync(file);
  }
}

function hasWritten(file: number, bytes: Buffer): boolean {
  try {
    return writeSync(file, bytes) > 0;
  } catch (error) {
    if (systemCode(error) === 'ENOSPC') return false;
    throw error;
  }
}
