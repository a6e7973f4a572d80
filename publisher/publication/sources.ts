/** Places of the files of a publication: a directory, a target, a web host. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { FileTooLong, type Target } from '../../node-support/storage/target.ts';
import { describeUnreadable, systemCode } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';

export interface PublicationSource {
  /**
   * Reads a small file. A file that is longer than asked for is cut, or is none.
   *
   * @param path - with a leading slash, not percent-encoded
   * @returns `undefined` if there is none
   */
  read(path: string, maximumLength: number): Promise<Uint8Array | undefined>;
}

/** @param directory - with the metadata and nothing above them */
export function metadataIn(directory: string): PublicationSource {
  const { read } = sourceInDirectory(directory);
  return { read: (path, maximum) => read(path.slice(METADATA_PATH.length), maximum) };
}

/**
 * Reads from a directory. A byte more than was asked for shows that a file is longer. Memory is taken for the file's length, not for what was asked.
 *
 * @throws PublishError `publication-missing` for a file that cannot be read
 */
export function sourceInDirectory(directory: string): PublicationSource {
  return {
    read: async (path, maximum) => {
      try {
        await using handle = await open(join(directory, path));
        const { size } = await handle.stat();
        const bytes = Buffer.alloc(Math.min(size, maximum + 1));
        const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
        return bytes.subarray(0, bytesRead);
      } catch (error) {
        if (['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG'].includes(systemCode(error) ?? '')) return undefined;
        throw new PublishError('publication-missing', describeUnreadable(join(directory, path), error), {
          cause: error,
        });
      }
    },
  };
}

/** Reads from a target. A file that is longer than any metadata counts as missing, so a host cannot stop a run with one. */
export function sourceAtTarget(target: Target): PublicationSource {
  return {
    read: async (path, maximum) => {
      try {
        return await target.get(path, maximum);
      } catch (error) {
        if (error instanceof FileTooLong) return undefined;
        throw error;
      }
    },
  };
}

/** Reads the first bytes of a stream, which is then let go. */
export async function startOf(stream: AsyncIterable<Uint8Array>, length: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for await (const part of stream) {
    parts.push(part);
    total += part.length;
    if (total >= length) break;
  }
  return Buffer.concat(parts).subarray(0, length);
}
