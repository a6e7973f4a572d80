/** The program of the in-browser reader, as `scripts/build-web-reader.ts` built it. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Where the program lies. */
export const WEB_READER_FOLDER = fileURLToPath(new URL('../dist/web-reader', import.meta.url));

/** A file of the program; `undefined` where it was not built. */
export function readWebReaderFile(name: string): Uint8Array | undefined {
  const path = `${WEB_READER_FOLDER}/${name}`;
  return existsSync(path) ? readFileSync(path) : undefined;
}
