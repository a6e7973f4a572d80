/** Reads and replaces the small files of a workspace. */
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { createFile as createNew, writeFileAtomicSync } from '../../node-support/files/write-file.ts';
import { describeUnwritable, systemCode } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';

/** Puts a file into its place in one step, or leaves what was there. @throws PublishError `output-failed` */
export async function replaceFile(file: string, bytes: Uint8Array, mode = 0o600): Promise<void> {
  try {
    writeFileAtomicSync(file, bytes, { mode });
  } catch (error) {
    throw new PublishError('output-failed', describeUnwritable(file, error), { cause: error });
  }
}

/** Writes a file that must not exist yet. @throws PublishError `output-failed` */
export function createFile(file: string, bytes: Uint8Array, mode: number): void {
  try {
    if (!createNew(file, bytes, mode)) throw new Error('it exists');
  } catch (error) {
    throw new PublishError('output-failed', describeUnwritable(file, error), { cause: error });
  }
}

/** Writes files that must not exist yet: all, or none. @throws PublishError `output-failed`, `disk-full` */
export function createFiles(files: readonly { file: string; bytes: Uint8Array; mode: number }[]): void {
  using undoing = new DisposableStack();
  for (const { file, bytes, mode } of files) {
    createFile(file, bytes, mode);
    undoing.defer(() => rmSync(file, { force: true }));
  }
  undoing.move();
}

/** Reads the bytes of a file; `undefined` if there is none. */
export async function readIfThere(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Reads the public key in a text file: one line of base64url; lines that begin with `#` are comments. */
export function publicKeyIn(text: string, length: number): Uint8Array | undefined {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'));
  return lines.length === 1 ? fromBase64url(lines[0]?.trim(), length) : undefined;
}
