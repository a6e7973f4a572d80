/** Names the files of the output that belong to a document, and finds the document of a name: docs/spec/publication.md, sections 1 and 3. */
import { createHash, hash as hashOf } from 'node:crypto';
import {
  closeSync,
  type Dirent,
  existsSync,
  fstatSync,
  opendirSync,
  openSync,
  readFileSync,
  readSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { contentTargetOf, headTargetOf, targetFile } from '../../core/publication/names.ts';
import { ROLE_VALIDITY } from '../../core/publication/writer.ts';
import { OBJECT_SUFFIX } from '../../core/site/path.ts';
import { HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { printable } from '../../node-support/printable.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { readIfThere } from '../keys/file-update.ts';
import { HASH_PREFIX } from '../site/names.ts';
import type { FilesOf, PublisherIndex } from '../workspace/index/publisher-index.ts';
import { replaceOutputFile, toOutput } from './writers/files.ts';

/** Lists the files with immutable names that a document has in the output, as paths there with a leading slash. */
export function immutableFilesOf({ path, head, content, form }: FilesOf): string[] {
  const object = form === 'carrier' ? [] : [targetFile(headTargetOf(path), head)];
  return content === undefined ? object : [...object, targetFile(contentTargetOf(path), content)];
}

export interface ImmutableName {
  readonly hash: string;
  /** Path of the document that it belongs to, or would. */
  readonly path: string;
  /** Tells an object or a head from content. */
  readonly isObject: boolean;
}

export function parseImmutableName(file: string): ImmutableName | undefined {
  const start = file.lastIndexOf('/') + 1;
  const name = file.slice(start);
  if (!HASH_PREFIX.test(name)) return undefined;
  const rest = name.slice(65);
  const isObject = rest.endsWith(OBJECT_SUFFIX);
  const stem = isObject ? rest.slice(0, -OBJECT_SUFFIX.length) : rest;
  return stem === '' ? undefined : { hash: name.slice(0, 64), path: file.slice(0, start) + stem, isObject };
}

const EMPTY_HASH = hashOf('sha256', '');

export interface FoundFile {
  /** Path in the output, with a leading slash. */
  readonly path: string;
  readonly name: string;
  readonly isFile: boolean;
}

/** Yields nothing if there is no such directory. */
export function* entriesOf(directory: string): Generator<Dirent> {
  if (!existsSync(directory)) return;
  using opened = reading(directory, () => opendirSync(directory, { bufferSize: 512 }));
  for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) yield entry;
}

/** Reads the first bytes of a file. @throws PublishError `output-failed` */
export function startOf(file: string, length = 32): Buffer {
  return withOpened(file, (descriptor) => {
    const start = Buffer.alloc(length);
    return start.subarray(0, readSync(descriptor, start, 0, start.length, 0));
  });
}

/** Returns the SHA-256 of a file, hexadecimal. @throws PublishError `output-failed` */
export function digestOf(file: string): string {
  return withOpened(file, (descriptor) => {
    const digest = createHash('sha256');
    const piece = Buffer.allocUnsafe(Math.min(1024 * 1024, fstatSync(descriptor).size + 1));
    for (let read = -1; read !== 0; ) {
      read = readSync(descriptor, piece);
      digest.update(piece.subarray(0, read));
    }
    return digest.digest('hex');
  });
}

function withOpened<Result>(file: string, work: (descriptor: number) => Result): Result {
  return reading(file, () => {
    const descriptor = openSync(file, 'r');
    try {
      return work(descriptor);
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

/** Tells whether a file was cut short: a killed run leaves nothing of it, or all. */
export function isCutShort(file: string, hash: string): boolean {
  return startOf(file, 1).length === 0 && hash !== EMPTY_HASH;
}

/** Keeps the time stamp of a file that has not changed. @throws PublishError `output-failed` */
export async function putIfDifferent(file: string, bytes: Uint8Array): Promise<void> {
  if (!(await readIfThere(file))?.equals(bytes)) replaceOutputFile(file, bytes);
}

/** Returns the text of the host proof; `''` if there is none. */
export function readProof(out: string): string {
  try {
    return readFileSync(join(out, HOST_PROOF_PATH), 'utf8');
  } catch {
    return '';
  }
}

/** Clocks differ, and uploads take time. */
const MARGIN = 86_400;

/** Times that clean-up goes by: when a publication was confirmed, and for how long readers may hold the one before. All in seconds. */
export interface Replacing {
  /** Time by our clock. */
  readonly now: number;
  /** Time by that of the authority: the version of its timestamp. */
  readonly signedAt: number;
  /** Time for which a timestamp is good, and its grace after that. */
  readonly freshFor: number;
  readonly grace: number;
}

/**
 * Returns the time since which a publication is replaced, and the time before which it must have been for its files to go. A wrong clock,
 * ours or the authority's, only keeps files longer.
 */
export function replacedTimes({ now, signedAt, freshFor, grace }: Replacing): { since: number; before: number } {
  const heldFor = Math.max(ROLE_VALIDITY.timestamp, freshFor) + grace + MARGIN;
  return { since: Math.max(now, signedAt), before: Math.min(now, signedAt) - heldFor };
}

/**
 * Removes what publications do without. To be called only where `timestamp.json` in `out` names the publication that the index describes: nothing
 * is replaced before its successor is confirmed.
 *
 * @param first - does the same elsewhere, before it is forgotten which files these are
 * @returns how many files were removed
 */
export async function pruneOutput(
  out: string,
  index: PublisherIndex,
  replacing: Replacing,
  first: (files: readonly string[]) => Promise<void> = async () => {},
): Promise<number> {
  const { since, before } = replacedTimes(replacing);
  index.startWaiting(since);
  let removed = 0;
  for (let batch = index.removable(before); batch.length > 0; batch = index.removable(before)) {
    await first(batch);
    removeFiles(out, batch);
    index.transaction(() => {
      for (const file of batch) index.unretire(file);
    });
    removeEmptyDirectories(out, batch);
    removed += batch.length;
  }
  return removed;
}

function removeEmptyDirectories(out: string, files: readonly string[]): void {
  for (const first of new Set(files.map((file) => dirname(file)))) {
    try {
      for (let directory = first; directory !== '/'; directory = dirname(directory)) rmdirSync(join(out, directory));
    } catch {} // has other files
  }
}

export function removeFiles(out: string, files: readonly string[]): void {
  for (const file of files) toOutput(join(out, file), () => rmSync(join(out, file), { force: true }));
}
