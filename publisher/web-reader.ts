/** The in-browser reader as this wispr has it: part of every site, signed or as files. */
import { readWebReader, type WebReaderFiles } from '../node-support/web-reader-files.ts';
import { PublishError } from './errors.ts';

/**
 * @param folder - for tests
 * @throws PublishError `web-reader-missing`
 */
export function builtWebReader(folder?: string): WebReaderFiles {
  const files = readWebReader(folder);
  if (files !== undefined) return files;
  throw new PublishError('web-reader-missing', 'the in-browser reader is not built');
}
