/** Reads files of the output; what the system says when it cannot is said in the publisher's own error. */
import { createHash, hash as hashOf } from 'node:crypto';
import { closeSync, type Dirent, existsSync, opendirSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { printable } from '../../node-support/printable.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';

/** SHA-256 of nothing. */
const EMPTY_HASH = hashOf('sha256', '');

/** One file of the output. */
export interface FoundFile {
  /** Its path in the output, with a leading slash. */
  readonly path: string;
  readonly name: string;
  readonly isFile: boolean;
}

/** Everything in a directory that is no directory, at whatever depth. Links are listed, and never followed. */
export function* filesIn(out: string): Generator<FoundFile> {
  const waiting = [''];
  for (let prefix = waiting.pop(); prefix !== undefined; prefix = waiting.pop()) {
    for (const entry of entriesOf(join(out, prefix))) {
      const path = `${prefix}/${entry.name}`;
      if (entry.isDirectory()) waiting.push(path);
      else yield { path, name: entry.name, isFile: entry.isFile() };
    }
  }
}

/** Nothing, where there is no such directory. */
export function* entriesOf(directory: string): Generator<Dirent> {
  if (!existsSync(directory)) return;
  using opened = reading(directory, () => opendirSync(directory, { bufferSize: 512 }));
  for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) yield entry;
}

/** The first bytes of a file. @throws PublishError `output-failed` */
export function startOf(file: string, length = 32): Buffer {
  return reading(file, () => {
    const descriptor = openSync(file, 'r');
    try {
      const start = Buffer.alloc(length);
      return start.subarray(0, readSync(descriptor, start, 0, start.length, 0));
    } finally {
      closeSync(descriptor);
    }
  });
}

/** SHA-256 of a file, hexadecimal. @throws PublishError `output-failed` */
export function digestOf(file: string): string {
  return reading(file, () => {
    const descriptor = openSync(file, 'r');
    try {
      const digest = createHash('sha256');
      const piece = Buffer.allocUnsafe(1024 * 1024);
      for (let read = -1; read !== 0; ) {
        read = readSync(descriptor, piece);
        digest.update(piece.subarray(0, read));
      }
      return digest.digest('hex');
    } finally {
      closeSync(descriptor);
    }
  });
}

/** @throws PublishError `output-failed` in place of the system's error */
function reading<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new PublishError('output-failed', `cannot read ${printable(file)}: ${systemReason(error)}`, { cause: error });
  }
}

/** A run that is killed leaves nothing of a file, or all of it. */
export function isCutShort(file: string, hash: string): boolean {
  return startOf(file, 1).length === 0 && hash !== EMPTY_HASH;
}

/** What the host proof says; nothing where there is none. */
export function readProof(out: string): string {
  try {
    return readFileSync(join(out, HOST_PROOF_PATH), 'utf8');
  } catch {
    return '';
  }
}
