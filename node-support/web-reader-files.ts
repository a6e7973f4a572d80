/** The built scripts of the in-browser reader, with what browsers and readers compare them by. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/** Where `scripts/build-web-reader.ts` puts them. */
export const WEB_READER_FOLDER = fileURLToPath(new URL('../dist/web-reader/', import.meta.url));

export type WebReaderScript = 'worker' | 'start' | 'vault' | 'sheet' | 'library' | 'open' | 'password';

export interface WebReaderFile {
  readonly content: Buffer;
  /** The same, compressed as tightly as it goes. */
  readonly gzip: Buffer;
  readonly brotli: Buffer;
  /** For the attribute `integrity`: `sha256-` and SHA-256 in base64. */
  readonly integrity: string;
}

export interface WebReaderFiles {
  readonly files: ReadonlyMap<WebReaderScript, WebReaderFile>;
  /** base64url of SHA-256 over names and digests of all scripts. */
  readonly version: string;
}

const SCRIPTS: readonly WebReaderScript[] = ['worker', 'start', 'vault', 'sheet', 'library', 'open', 'password'];
const NEEDED: readonly WebReaderScript[] = ['worker', 'start'];

/** `undefined` where they were not built. */
export function readWebReader(folder: string = WEB_READER_FOLDER): WebReaderFiles | undefined {
  const files = new Map<WebReaderScript, WebReaderFile>();
  for (const name of SCRIPTS) {
    const content = readIfThere(join(folder, `${name}.js`));
    if (content === undefined) continue;
    files.set(name, fileOf(content));
  }
  if (!NEEDED.every((name) => files.has(name))) return undefined;
  const names = Array.from(files, ([name, { integrity }]) => `${name} ${integrity}\n`);
  return { files, version: createHash('sha256').update(names.join('')).digest('base64url') };
}

/** A script as it is served. */
export function fileOf(content: Buffer): WebReaderFile {
  const integrity = `sha256-${createHash('sha256').update(content).digest('base64')}`;
  return { content, gzip: gzipSync(content, { level: 9 }), brotli: brotliCompressSync(content), integrity };
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
