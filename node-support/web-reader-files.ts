/** The built scripts of the in-browser reader, with what browsers and readers compare them by. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { ReaderProgram } from '../core/publication/reader-program.ts';

/** Where `scripts/build-web-reader.ts` puts them. */
export const WEB_READER_FOLDER = fileURLToPath(new URL('../dist/web-reader/', import.meta.url));

export type WebReaderScript = (typeof SCRIPTS)[number];

const SCRIPTS = ['worker', 'start', 'vault', 'ml-kem'] as const;

export interface WebReaderFile {
  readonly content: Buffer;
  /** The same, compressed as tightly as it goes. */
  readonly gzip: Buffer;
  readonly brotli: Buffer;
  /** For the attribute `integrity`: `sha256-` and SHA-256 in base64. */
  readonly integrity: string;
}

export type WebReaderFiles = Readonly<Record<WebReaderScript, WebReaderFile>>;

/** `undefined` where they were not built. */
export function readWebReader(folder: string = WEB_READER_FOLDER): WebReaderFiles | undefined {
  const files: Partial<Record<WebReaderScript, WebReaderFile>> = {};
  for (const name of SCRIPTS) {
    const content = readIfThere(join(folder, `${name}.js`));
    if (content === undefined) return undefined;
    files[name] = fileOf(content);
  }
  return files as WebReaderFiles;
}

/** Whose documents a worker reads, who signs them, and where keys are had. */
export interface WorkerSite {
  /** Origin of the vault: `reading` in the descriptor. */
  readonly reading: string;
  /** Root id. */
  readonly root: string;
  readonly site: string;
}

/** The worker of a site, which has it in front: whatever stands in the browser's storage, published scripts can write to. */
export function workerFor({ worker }: WebReaderFiles, { reading, root, site }: WorkerSite): WebReaderFile {
  return fileOf(
    Buffer.concat([Buffer.from(`self.wisprSite=${JSON.stringify({ reading, root, site })};`), worker.content]),
  );
}

/** The program as browsers of a site get it, for the publisher to sign and for others to compare. */
export function programOf(files: WebReaderFiles, site: WorkerSite): ReaderProgram {
  const served = Object.entries({ ...files, worker: workerFor(files, site) });
  return Object.fromEntries(
    served.map(([name, { content }]) => [name, createHash('sha256').update(content).digest('hex')]),
  );
}

/** A script as it is served. */
function fileOf(content: Buffer): WebReaderFile {
  const integrity = `sha256-${createHash('sha256').update(content).digest('base64')}`;
  let [gzip, brotli]: (Buffer | undefined)[] = [];
  // Publishers never need these, and the tightest takes a while.
  return {
    content,
    integrity,
    get gzip() {
      gzip ??= gzipSync(content, { level: 9 });
      return gzip;
    },
    get brotli() {
      brotli ??= brotliCompressSync(content);
      return brotli;
    },
  };
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
