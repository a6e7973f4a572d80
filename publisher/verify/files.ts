/** The files of a published tree. */
import { type Dirent, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { listFiles } from '../list-files.ts';

/** A file as a web host would serve it. */
export interface TreeFile {
  /** From the top of the tree, with a leading slash. */
  readonly path: string;
  readonly file: string;
}

/**
 * Lists a tree.
 *
 * @returns the files, and the paths of what is neither a file nor a directory
 * @throws PublishError `tree-unreadable`
 */
export async function listTree(directory: string): Promise<{ files: TreeFile[]; others: string[] }> {
  const files: TreeFile[] = [];
  const others: string[] = [];
  for (const entry of await readTree(directory)) {
    const file = join(entry.parentPath, entry.name);
    const path = `/${relative(directory, file).replaceAll(sep, '/')}`;
    if (isServedFile(entry, file)) files.push({ path, file });
    else others.push(path);
  }
  return { files, others };
}

async function readTree(directory: string): Promise<Dirent[]> {
  try {
    return await listFiles(directory);
  } catch (error) {
    const message = describeUnreadable(directory, error);
    throw new PublishError('tree-unreadable', message, { cause: error });
  }
}

/** Links to files are served as files; a link to a directory is not followed here, and named. */
function isServedFile(entry: Dirent, file: string): boolean {
  if (!entry.isSymbolicLink()) return entry.isFile();
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}

const PIECE_LENGTH = 1024 * 1024;

/** The bytes of a file, as a stream. */
export async function* fileBytes(file: string): AsyncGenerator<Uint8Array> {
  await using handle = await open(file);
  const { size } = await handle.stat();
  const pieceLength = Math.min(PIECE_LENGTH, size + 1);
  for (;;) {
    const piece = Buffer.allocUnsafeSlow(pieceLength);
    const { bytesRead } = await handle.read(piece, 0, pieceLength, null);
    if (bytesRead === 0) return;
    yield piece.subarray(0, bytesRead);
  }
}

/** The first bytes of a file. */
export async function fileStart(file: string, length: number): Promise<Uint8Array> {
  await using handle = await open(file);
  const start = Buffer.alloc(length);
  const { bytesRead } = await handle.read(start, 0, length, 0);
  return start.subarray(0, bytesRead);
}
