/** The first run: writes a configuration where there is none. */
import { createFile } from '../node-support/create-file.ts';
import { systemReason } from '../node-support/system-error.ts';
import { configTemplate } from './config-template.ts';
import { KeyServerError } from './errors.ts';

/**
 * Writes a commented configuration, unless there is a file already.
 *
 * @returns whether it was written
 * @throws KeyServerError `config-unwritable`
 */
export function writeConfig(file: string, options: { readonly dev: boolean }): boolean {
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
