/** Reads files that somebody sent: of a bounded length, and from nothing but files. */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { describeUnreadable, systemCode } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';

/** Bytes of the longest file that is read: a publication with some 100,000 documents. */
export const MAXIMUM_DRAFT_FILE = 64 * 1024 * 1024;

/**
 * The bytes of a file that waits for signatures.
 *
 * @throws PublishError `draft-malformed` if it is none, cannot be read, or is too long
 */
export async function readDraftFile(file: string): Promise<Uint8Array> {
  try {
    return await readBounded(file);
  } catch (error) {
    if (error instanceof PublishError) throw error;
    throw new PublishError('draft-malformed', describeUnreadable(file, error), { cause: error, typed: true });
  }
}

/** {@link readDraftFile}, of a file that need not be there. */
export async function readDraftIfThere(file: string): Promise<Uint8Array | undefined> {
  try {
    return await readBounded(file);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function readBounded(file: string): Promise<Uint8Array> {
  // Without waiting: a named pipe would have nobody at its other end.
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const stat = await handle.stat();
  if (!stat.isFile()) throw refused(`${file} is not a file`);
  if (stat.size > MAXIMUM_DRAFT_FILE) throw refused(`${file} is longer than ${MAXIMUM_DRAFT_FILE} bytes`);
  return readWhole(handle, stat.size);
}

/** As long as it was: one that grows meanwhile is cut, and so refused by whoever parses it. */
async function readWhole(handle: FileHandle, size: number): Promise<Uint8Array> {
  const bytes = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await handle.read(bytes, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

function refused(message: string): PublishError {
  return new PublishError('draft-malformed', message, { typed: true });
}
