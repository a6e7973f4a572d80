/** The first run: writes a configuration where there is none. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createFile } from '../node-support/files/write-file.ts';
import { systemReason } from '../node-support/system-error.ts';
import { configTemplate } from './config-template.ts';
import { KeyServerError } from './errors.ts';

/**
 * Writes a commented configuration, unless there is a file already. Where a key server lives, a second configuration is a misspelt name.
 *
 * @returns whether it was written
 * @throws KeyServerError `config-unwritable`; `config-missing` where a key server has another configuration
 */
export function writeConfig(file: string, options: { readonly dev: boolean }): boolean {
  if (existsSync(file)) return false;
  const present = ['keyserver.json', 'keyserver.db'].map((name) => join(dirname(file), name)).find(existsSync);
  if (present !== undefined) {
    throw new KeyServerError('config-missing', `there is no ${file}, and none was written beside ${present}`, {
      typed: true,
      hint: 'name the configuration of the key server that is there, or another directory for a new one',
    });
  }
  try {
    return createFile(file, configTemplate(options), 0o644);
  } catch (cause) {
    throw new KeyServerError(
      'config-unwritable',
      `the configuration cannot be written at ${file}: ${systemReason(cause)}`,
      {
        cause,
      },
    );
  }
}
