/** Reads a source file, and makes sure that it is the file that was planned. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { printable } from '../../node-support/printable.ts';
import { PublishError } from '../errors.ts';
import { identityOf, reading, type SourceFile } from '../site/walk.ts';

const READ_LENGTH = 1024 * 1024;

/**
 * An open source file. It is read in place: handing small reads to another thread costs five times what they take, and large
 * files are read on threads anyway.
 */
export class SourceReader implements Disposable {
  readonly #source: SourceFile;
  readonly #descriptor: number;

  /** @throws PublishError `source-refused` */
  constructor(source: SourceFile) {
    this.#source = source;
    this.#descriptor = reading(source.path, () => openSync(source.file, 'r'));
  }

  /**
   * Checks the file, once everything was read and before it is used. Also catches a file that another one took the place of.
   *
   * @throws PublishError `source-refused`
   */
  checkUnchanged(): void {
    const stats = reading(this.#source.path, () => fstatSync(this.#descriptor, { bigint: true }));
    if (identityOf(stats) !== this.#source.identity) throw changed(this.#source);
  }

  /** Fills `target` with the bytes at `position`. @throws PublishError `source-refused`; `source-refused` if there are not as many */
  readAt(position: number, target: Uint8Array): Uint8Array {
    for (let filled = 0; filled < target.length; ) {
      const read = reading(this.#source.path, () =>
        readSync(this.#descriptor, target, filled, target.length - filled, position + filled),
      );
      if (read === 0) throw changed(this.#source);
      filled += read;
    }
    return target;
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}

/** Reads a whole file that is known to be small. @param memory - for the bytes, if it is large enough */
export function readWhole(source: SourceFile, memory: Uint8Array): Uint8Array {
  using reader = new SourceReader(source);
  const target = source.size <= memory.length ? memory.subarray(0, source.size) : Buffer.allocUnsafeSlow(source.size);
  const bytes = reader.readAt(0, target);
  reader.checkUnchanged();
  return bytes;
}

/** Reads the first bytes of a file; fewer, if it has no more. @throws PublishError `source-refused` */
export function readStart(source: SourceFile, length: number): Uint8Array {
  using reader = new SourceReader(source);
  const start = reader.readAt(0, Buffer.allocUnsafe(Math.min(length, source.size)));
  reader.checkUnchanged();
  return start;
}

/** Reads a file of any size in pieces. The last one comes only after the file was found unchanged. */
export function* readPieces(source: SourceFile): Generator<Uint8Array> {
  using reader = new SourceReader(source);
  reader.checkUnchanged(); // checks here too: there may be much to do until the end
  for (let position = 0; position < source.size; position += READ_LENGTH) {
    const length = Math.min(READ_LENGTH, source.size - position);
    const piece = reader.readAt(position, Buffer.allocUnsafeSlow(length));
    if (position + length === source.size) reader.checkUnchanged();
    yield piece;
  }
}

export function changed({ path }: SourceFile): PublishError {
  return new PublishError('source-refused', `${printable(path)} changed while the site was being protected`);
}
