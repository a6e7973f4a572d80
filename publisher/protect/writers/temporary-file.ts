import { closeSync, futimesSync, openSync, renameSync, rmSync } from 'node:fs';
import { temporaryBeside } from '../../../node-support/files/write-file.ts';
import { toOutputNow } from '../to-output.ts';
import { OUTPUT_MODE, withDirectory, writeFully } from './files.ts';

/** A file that takes more than one step to write, or whose name is known only in the end. Removed, if it is not kept. */
export class TemporaryFile implements Disposable {
  /** Its name until then. */
  readonly name: string;
  readonly #shown: string;
  readonly #descriptor: number;
  #kept = false;

  /**
   * @param shown - what messages call it; the file lies in the same directory
   * @throws PublishError `output-failed`
   */
  constructor(shown: string) {
    this.#shown = shown;
    this.name = temporaryBeside(shown);
    this.#descriptor = toOutputNow(shown, () => withDirectory(shown, () => openSync(this.name, 'wx', OUTPUT_MODE)));
  }

  /** @throws PublishError `output-failed` */
  write(bytes: Uint8Array, position: number): void {
    toOutputNow(this.#shown, () => writeFully(this.#descriptor, bytes, position));
  }

  /**
   * Gives it its own name.
   *
   * @param lastModified - seconds since 1970
   * @throws PublishError `output-failed`
   */
  keepAs(file: string, lastModified?: number): void {
    toOutputNow(this.#shown, () => {
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
