import { readFileSync, statSync } from 'node:fs';
import { KeyServerError } from '../../keyserver/errors.ts';
import { describeUnreadable } from '../../node-support/system-error.ts';

/**
 * Reads a file that was named, unless it is too long.
 *
 * @param most - bytes
 * @param remark - what follows where it is longer
 * @throws KeyServerError `argument-invalid`
 */
export function readBounded(file: string, most: number, remark = ''): Uint8Array {
  try {
    if (statSync(file).size > most) throw new Error(`it is longer than ${most} bytes${remark}`);
    return readFileSync(file);
  } catch (cause) {
    throw new KeyServerError('argument-invalid', describeUnreadable(file, cause), { cause, typed: true });
  }
}
