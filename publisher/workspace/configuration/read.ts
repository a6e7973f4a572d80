/** Reads `wispr.json`. */
import { readFile } from 'node:fs/promises';
import { configurationText, parseConfigurationText } from '../../../node-support/configuration.ts';
import { describeUnreadable, systemCode } from '../../../node-support/system-error.ts';
import { PublishError } from '../../errors.ts';
import { type Configuration, configurationSchema } from './schema.ts';

/** @throws PublishError `configuration-missing`, `configuration-invalid` */
export async function readConfiguration(file: string): Promise<Configuration> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw missing(file, error);
  });
  return parseConfiguration(configurationText(bytes, file, invalid), file);
}

/**
 * Checks the text of a configuration.
 *
 * @param file - how messages name it
 * @throws PublishError `configuration-invalid`, a line for each thing that is wrong, with its line in the file and the member
 */
export function parseConfiguration(text: string, file: string): Configuration {
  return parseConfigurationText(text, file, configurationSchema, invalid);
}

function invalid(message: string): PublishError {
  return new PublishError('configuration-invalid', message);
}

function missing(file: string, error: unknown): PublishError {
  const code = systemCode(error) === 'ENOENT' ? 'configuration-missing' : 'configuration-invalid';
  return new PublishError(code, describeUnreadable(file, error), { cause: error, typed: true });
}
