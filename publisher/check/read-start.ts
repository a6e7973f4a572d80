/** Reads files of the source for looking at them: in place, since there may be many small ones. */
import { closeSync, openSync, readSync } from 'node:fs';
import { printable } from '../../node-support/printable.ts';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import type { SourceFile } from '../site/walk.ts';

/**
 * The first bytes of a file.
 *
 * @throws PublishError `source-unreadable`
 */
export function readStart({ file, path, size }: SourceFile, length: number): Buffer {
  try {
    const descriptor = openSync(file, 'r');
    try {
      const bytes = Buffer.allocUnsafe(Math.min(size, length));
      let filled = 0;
      for (let read = -1; filled < bytes.length && read !== 0; filled += read) {
        read = readSync(descriptor, bytes, filled, bytes.length - filled, null);
      }
      return bytes.subarray(0, filled);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw new PublishError('source-unreadable', describeUnreadable(printable(path), error), { cause: error });
  }
}
