import { cacheDirectoryFor, defaultDataDirectory, defaultKeyFile } from '../store/locations.ts';
import type { ReaderFiles } from './remove.ts';

/** Where the Reader's files are, with what was given and what is usual. The usual key belongs to the usual database. */
export function readerFiles({ dataDirectory, keyFile }: { dataDirectory?: string; keyFile?: string }): ReaderFiles {
  return {
    dataDirectory: dataDirectory ?? defaultDataDirectory(),
    cacheDirectory: cacheDirectoryFor(dataDirectory),
    keyFile: keyFile ?? (dataDirectory === undefined ? defaultKeyFile() : undefined),
  };
}
