import { readFileSync, statSync } from 'node:fs';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { misconfigured } from '../errors.ts';

/**
 * A secret that the configuration names a file of.
 *
 * @throws KeyServerError `configuration-invalid` where the file cannot be read, is empty, or may be read by others
 */
export function readSecretFile(file: string): string {
  try {
    const secret = readFileSync(file, 'utf8').trim();
    if (secret === '') throw new Error(`${file} is empty`);
    if ((statSync(file).mode & 0o077) !== 0) throw new Error(`other users of this machine may read ${file}`);
    return secret;
  } catch (cause) {
    throw misconfigured(describeUnreadable(file, cause), cause);
  }
}
