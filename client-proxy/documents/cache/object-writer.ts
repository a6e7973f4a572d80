/** Keeps one object while it is read. It counts once it is whole and renamed; a failure before costs the copy alone. */
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeDirectory } from '../../../node-support/make-directory.ts';
import { LIMITS } from '../../limits.ts';

export interface WriterOptions {
  readonly partialFile: string;
  readonly file: string;
  readonly length: number;
  /** Tells whether the reading waits for a disk that is slower than it; otherwise the copy is given up. */
  readonly patient: boolean;
  /** Called once: whether it is whole, and what went wrong, if something did. */
  readonly ended: (whole: boolean, error?: unknown) => void;
}

export class CacheWriter {
  readonly #options: WriterOptions;
  #parts: Uint8Array[] = [];
  /** Told when what was taken so far is written, or is not going to be. */
  #spent: (() => void)[] = [];
  #taken = 0;
  #unwritten = 0;
  #handle: FileHandle | undefined;
  #working: Promise<void> | undefined;
  #over = false;
  #whole = false;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Takes the next bytes. A promise where the disk has to be waited for. @param spent - called after their last use */
  keep(bytes: Uint8Array, spent?: () => void): Promise<void> | undefined {
    if (this.#over) {
      spent?.();
      return undefined;
    }
    this.#parts.push(bytes);
    if (spent) this.#spent.push(spent);
    this.#taken += bytes.length;
    this.#unwritten += bytes.length;
    const { length, patient } = this.#options;
    if (this.#taken < length && this.#unwritten < LIMITS.cacheWriteAtOnce) return undefined;
    this.#working ??= this.#work();
    if (this.#unwritten < LIMITS.cacheUnwritten) return undefined;
    if (patient) return this.#working;
    this.abandon();
    return undefined;
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** Drops what was kept so far, unless it is the whole. */
  abandon(): void {
    if (this.#over || this.#taken >= this.#options.length) return;
    this.#over = true;
    if (this.#working === undefined) this.#end(undefined).catch(() => undefined);
  }

  /** Resolves when nothing is under way any more: whether the whole object is there. */
  async settled(): Promise<boolean> {
    await this.#working;
    return this.#whole;
  }

  /** Writes all that has come, one write at a time. Never throws. */
  async #work(): Promise<void> {
    let failure: unknown;
    try {
      while (this.#parts.length > 0 && !this.#over) await this.#writeParts();
    } catch (error) {
      failure = error;
    }
    if (this.#over || failure !== undefined || this.#taken >= this.#options.length) await this.#end(failure);
    else this.#working = undefined;
  }

  async #writeParts(): Promise<void> {
    const { partialFile } = this.#options;
    this.#handle ??= await inFolder(partialFile, () => open(partialFile, 'wx', 0o600));
    const [parts, spent] = [this.#parts, this.#spent];
    this.#parts = [];
    this.#spent = [];
    let length = 0;
    for (const part of parts) length += part.length;
    try {
      const { bytesWritten } = await this.#handle.writev(parts);
      if (bytesWritten !== length) throw new Error('the disk took less than it was given');
    } finally {
      for (const tell of spent) tell();
    }
    this.#unwritten -= length;
  }

  async #end(failure: unknown): Promise<void> {
    const { partialFile, file, length, ended } = this.#options;
    let error = failure;
    this.#whole = failure === undefined && this.#taken === length && !this.#over;
    this.#over = true;
    this.#parts = [];
    for (const tell of this.#spent.splice(0)) tell();
    try {
      await this.#handle?.close();
      if (this.#whole) await inFolder(file, () => rename(partialFile, file));
    } catch (problem) {
      error ??= problem;
      this.#whole = false;
    }
    if (!this.#whole && this.#handle) await rm(partialFile, { force: true }).catch(() => undefined);
    ended(this.#whole, error);
  }
}

/** The folder may have been removed, to forget what was read: then it is made anew. */
async function inFolder<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await makeDirectory(dirname(file), 0o700);
    return work();
  }
}
