/** The files of a published directory. */
import { type FileHandle, open, opendir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describeUnreadable, systemCode, systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { readStart, startOf, Unreadable, type VerifiedPlace } from './place.ts';

/** Something in a directory that is no directory. */
export interface TreeEntry {
  /** From the top of the tree, with a leading slash. */
  readonly path: string;
  /** Whether a web host would serve it: a file, or a link to one. */
  readonly isFile: boolean;
}

const PIECE_LENGTH = 1024 * 1024;
const ABSENT = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'];

export class DirectoryPlace implements VerifiedPlace {
  readonly inFlight = 4;
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  read(path: string, maximum: number): Promise<Uint8Array | undefined> {
    return readStart(this, path, maximum);
  }

  async open(path: string): Promise<AsyncGenerator<Uint8Array> | undefined> {
    const file = join(this.#directory, path);
    const handle = await open(file).catch((error: unknown) => {
      if (ABSENT.includes(systemCode(error) ?? '')) return undefined;
      throw unreadable(error);
    });
    return handle && named(pieces(handle));
  }

  /**
   * Everything that is no directory, however much that is. Links to files are served as files; a link to a directory is not followed.
   *
   * @throws PublishError `tree-unreadable`
   */
  async *entries(): AsyncGenerator<TreeEntry> {
    const waiting = [''];
    for (let prefix = waiting.pop(); prefix !== undefined; prefix = waiting.pop()) {
      const directory = join(this.#directory, prefix);
      const entries = await opendir(directory).catch((error: unknown) => {
        throw new PublishError('tree-unreadable', describeUnreadable(directory, error), { cause: error });
      });
      for await (const entry of entries) {
        const path = `${prefix}/${entry.name}`;
        if (entry.isDirectory()) waiting.push(path);
        else yield { path, isFile: entry.isFile() || (entry.isSymbolicLink() && (await this.#leadsToFile(path))) };
      }
    }
  }

  /** Names of what a directory holds; none, if it cannot be read. */
  async namesIn(directory: string): Promise<string[]> {
    return readdir(join(this.#directory, directory)).catch(() => []);
  }

  /** @throws PublishError `tree-unreadable` if there is no such directory */
  async check(): Promise<void> {
    const entries = this.entries();
    await entries.next();
    await entries.return(undefined);
  }

  async #leadsToFile(path: string): Promise<boolean> {
    return stat(join(this.#directory, path)).then(
      (found) => found.isFile(),
      () => false,
    );
  }
}

async function* named(stream: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    throw error instanceof Error && 'syscall' in error ? unreadable(error) : error;
  }
}

async function* pieces(handle: FileHandle): AsyncGenerator<Uint8Array> {
  try {
    const { size } = await handle.stat();
    const length = Math.min(PIECE_LENGTH, size + 1);
    for (;;) {
      const piece = Buffer.allocUnsafeSlow(length);
      const { bytesRead } = await handle.read(piece, 0, length, null);
      if (bytesRead === 0) return;
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

function unreadable(error: unknown): Unreadable {
  return new Unreadable(`cannot be read: ${systemReason(error)}`, { cause: error });
}

/** The bytes of a file, as a stream that throws what the system does. */
export async function* fileBytes(file: string): AsyncGenerator<Uint8Array> {
  const handle = await open(file);
  yield* pieces(handle);
}

/** The first bytes of a file. */
export function fileStart(file: string, length: number): Promise<Uint8Array> {
  return startOf(fileBytes(file), length);
}
