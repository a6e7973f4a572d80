/** A publication in a directory, and one at a target. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { FileTooLong, type Target } from '../../node-support/storage/target.ts';
import { describeUnreadable, systemCode } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import type { PublicationPlace } from './open.ts';

/** @param directory - with the metadata and nothing above them */
export function metadataIn(directory: string): PublicationPlace {
  const { read } = placeInDirectory(directory);
  return { read: (path, maximum) => read(path.slice(METADATA_PATH.length), maximum) };
}

/**
 * One byte more than was asked for shows that a file is longer. Of memory it takes what the file has, however much was asked for.
 *
 * @throws PublishError `publication-missing` for a file that cannot be read
 */
export function placeInDirectory(directory: string): PublicationPlace {
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

export function placeAtTarget(target: Target): PublicationPlace {
  return { read: (path, maximum) => readBounded(target, path, maximum) };
}

/** What is longer than any is none: a host that puts such files there stops nobody. */
export async function readBounded(target: Target, path: string, maximum: number): Promise<Uint8Array | undefined> {
  try {
    return await target.get(path, maximum);
  } catch (error) {
    if (error instanceof FileTooLong) return undefined;
    throw error;
  }
}
