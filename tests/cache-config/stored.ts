/** Searches what a cache has stored, on disk and in memory, for bytes. */
import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CacheServer } from '../../cache-config/servers.ts';

const CHUNK = 4_194_304;

/** Tells which of the needles a cache keeps, in any file of its directory or in the memory of its processes if it stores there. */
export function found(server: CacheServer, needles: readonly Buffer[]): boolean[] {
  const seen = needles.map(() => false);
  const look = (chunk: Buffer) => {
    for (const [index, needle] of needles.entries()) if (!seen[index] && chunk.includes(needle)) seen[index] = true;
  };
  for (const file of filesIn(server.directory)) scan(file, [[0, statSync(file).size]], needles, look);
  if (server.name === 'varnish' || server.name === 'haproxy')
    for (const pid of family(server.pid)) scan(`/proc/${pid}/mem`, regions(pid), needles, look);
  return seen;
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Reads parts of a file, each chunk with the end of the one before it. What cannot be read (any more) is left out. */
function scan(
  file: string,
  parts: readonly (readonly [number, number])[],
  needles: readonly Buffer[],
  look: (chunk: Buffer) => void,
): void {
  const overlap = Math.max(...needles.map(({ length }) => length)) - 1;
  const buffer = Buffer.alloc(CHUNK + overlap);
  const handle = openSync(file, 'r');
  try {
    for (const [start, end] of parts) {
      for (let at = start; at < end; at += CHUNK) {
        const length = readAt(handle, buffer, Math.min(buffer.length, end - at), at);
        if (length === 0) break;
        look(buffer.subarray(0, length));
      }
    }
  } finally {
    closeSync(handle);
  }
}

function readAt(handle: number, buffer: Buffer, length: number, position: number): number {
  try {
    return readSync(handle, buffer, 0, length, position);
  } catch {
    return 0;
  }
}

/** Writable memory of a process. */
function regions(pid: number): [number, number][] {
  const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  return lines.flatMap((line): [number, number][] => {
    const [, start, end] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
    return start === undefined || end === undefined ? [] : [[Number.parseInt(start, 16), Number.parseInt(end, 16)]];
  });
}

/** A process and its children. */
function family(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return [pid, ...children.filter((child) => child !== '').flatMap((child) => family(Number(child)))];
}
