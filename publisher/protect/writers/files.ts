/**
 * Files of the output. One with an immutable name is written under it directly: it is not asked for before the publication that names it, and a run
 * that finds what an interrupted one left writes it anew. Everything else is written beside its place, and renamed.
 */
import {
  closeSync,
  copyFileSync,
  futimesSync,
  linkSync,
  lstatSync,
  renameSync,
  rmSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { contentTargetOf, headTargetOf, targetFile } from '../../../core/publication/names.ts';
import { OBJECT_SUFFIX } from '../../../core/site/path.ts';
import {
  isTemporaryName,
  openNew,
  replaceFileSync,
  temporaryBeside,
  writeFileAtomicSync,
} from '../../../node-support/files/write-file.ts';
import { makeDirectoryNow } from '../../../node-support/make-directory.ts';
import { printable } from '../../../node-support/printable.ts';
import { systemCode, systemReason } from '../../../node-support/system-error.ts';
import { PublishError } from '../../errors.ts';

/** Lets web servers read and the owner write, whatever the umask. */
const OUTPUT_MODE = 0o644;

/** Returns the path of a document's object. @param head - SHA-256 of its head, hexadecimal */
export function objectFile(out: string, path: string, head: string): string {
  return `${out}/${targetFile(headTargetOf(path), head)}`;
}

/** Returns the path of a public document's content. @param content - its SHA-256, hexadecimal */
export function contentFile(out: string, path: string, content: string): string {
  return `${out}/${targetFile(contentTargetOf(path), content)}`;
}

/** Returns the path where a page that carries its object waits to be placed. */
export function stagedFile(out: string, path: string, head: string): string {
  return `${contentFile(out, path, head)}.carrier`;
}

/** Returns the name of a document's file in messages, since its hash says nothing to people. */
export function shownFile(
  out: string,
  { path, set }: { readonly path: string; readonly set: string | undefined },
): string {
  return `${out}${path}${set === undefined ? '' : OBJECT_SUFFIX}`;
}

/** Tells whether a file of this name is one that an interrupted run may have left: written, but never put into its place. */
export function isLeftoverName(name: string): boolean {
  return isTemporaryName(name) || (name.endsWith('.carrier') && /^[0-9a-f]{64}\./.test(name));
}

/**
 * Writes a file with an immutable name.
 *
 * @param shown - what messages call it
 * @param lastModified - seconds since 1970
 * @throws PublishError `output-failed`; nothing is left then
 */
export function createFile(file: string, shown: string, bytes: Uint8Array, lastModified?: number): void {
  toOutput(shown, () => {
    try {
      writeNew(file, bytes, lastModified);
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
      replaceFileSync(file, (temporary) => writeNew(temporary, bytes, lastModified), { durable: false });
    }
  });
}

/**
 * Replaces a file in one step.
 *
 * @param options - `sync`: durable, for the file that makes all others visible
 * @throws PublishError `output-failed`; what was there before is unchanged then
 */
export function replaceOutputFile(
  file: string,
  bytes: Uint8Array,
  { sync = false }: { readonly sync?: boolean } = {},
): void {
  toOutput(file, () =>
    withDirectory(file, () => writeFileAtomicSync(file, bytes, { mode: OUTPUT_MODE, durable: sync })),
  );
}

/** Replaces a file by another one, which keeps its own name too: a hard link, or a copy where the file system has none. */
export function replaceByCopy(file: string, original: string): void {
  toOutput(file, () => {
    if (!isSameFile(file, original))
      replaceFileSync(file, (temporary) => linkOrCopy(original, temporary), { durable: false });
  });
}

/** Moves a file to its place. @throws PublishError `output-failed` */
export function moveFile(from: string, to: string): void {
  toOutput(to, () => renameSync(from, to));
}

function writeNew(file: string, bytes: Uint8Array, lastModified?: number): void {
  const descriptor = withDirectory(file, () => openNew(file, OUTPUT_MODE));
  try {
    writeFully(descriptor, bytes, 0);
    // Hosts and caches make their validators from it.
    if (lastModified !== undefined) futimesSync(descriptor, lastModified, lastModified);
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Writes all bytes: the system may write fewer at once. */
export function writeFully(descriptor: number, bytes: Uint8Array, position: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(descriptor, bytes, written, bytes.length - written, position + written);
  }
}

/** Makes the directory only if `create` misses it: looking for it before every file would cost more than it is worth. */
function withDirectory<Result>(file: string, create: () => Result): Result {
  try {
    return create();
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    makeDirectoryNow(dirname(file));
    return create();
  }
}

function linkOrCopy(original: string, copy: string): void {
  try {
    linkSync(original, copy);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') throw error;
    copyFileSync(original, copy);
    const { atime, mtime } = lstatSync(original);
    utimesSync(copy, atime, mtime);
  }
}

/** Tells whether two names are of the same file: a rename of one to the other does nothing, and would leave both. */
function isSameFile(file: string, original: string): boolean {
  const [one, other] = [file, original].map((name) => lstatSync(name, { bigint: true, throwIfNoEntry: false }));
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}

/** A file that takes more than one step to write, or whose name is known only in the end. Removed, if it is not kept. */
export class TemporaryFile implements Disposable {
  /** Name until then. */
  readonly name: string;
  /** Name in messages. */
  readonly shown: string;
  readonly #descriptor: number;
  #kept = false;

  /**
   * @param shown - what messages call it; the file lies in the same directory
   * @throws PublishError `output-failed`
   */
  constructor(shown: string) {
    this.shown = shown;
    this.name = temporaryBeside(shown);
    this.#descriptor = toOutput(shown, () => withDirectory(shown, () => openNew(this.name, OUTPUT_MODE)));
  }

  /** @throws PublishError `output-failed` */
  write(bytes: Uint8Array, position: number): void {
    toOutput(this.shown, () => writeFully(this.#descriptor, bytes, position));
  }

  /**
   * Gives it its own name.
   *
   * @param lastModified - seconds since 1970
   * @throws PublishError `output-failed`
   */
  keepAs(file: string, lastModified?: number): void {
    toOutput(this.shown, () => {
      if (lastModified !== undefined) futimesSync(this.#descriptor, lastModified, lastModified);
      renameSync(this.name, file);
    });
    this.#kept = true;
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
    if (!this.#kept) rmSync(this.name, { force: true });
  }
}

/** @throws PublishError `output-failed` in place of the system's error; what is no error of the system stays as it is */
export function toOutput<Result>(file: string, write: () => Result): Result {
  try {
    return write();
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    const message = `cannot write ${printable(file)}: ${systemReason(error)}; what was there before is unchanged`;
    throw new PublishError('output-failed', message, { cause: error });
  }
}
