/** The built scripts of the in-browser reader, with what browsers and readers compare them by. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { ReaderProgram } from '../core/publication/reader-program.ts';
import { readProgramFile } from './program-files.ts';

export type WebReaderScript = (typeof SCRIPTS)[number];

const SCRIPTS = [
  'worker',
  'root-worker',
  'start',
  'first',
  'vault',
  'ml-kem',
  'page',
  'sheet',
  'open',
  'password',
] as const;

/** Scripts that the worker puts into pages: it has their addresses in front. */
export const SCRIPTS_OF_WORKER = ['page', 'sheet'] as const;

/** Scripts at the origin of the documents; the others are at the reading site's own. */
export const SCRIPTS_WITH_DOCUMENTS: readonly string[] = ['worker', 'start', 'first', ...SCRIPTS_OF_WORKER];

/** Scripts of sites that have no key server. */
const WITHOUT_KEY_SERVER: readonly string[] = ['root-worker', 'open', 'password'];

export interface WebReaderFile {
  readonly content: Buffer;
  /** The same, compressed as tightly as it goes. */
  readonly gzip: Buffer;
  readonly brotli: Buffer;
  /** Value of the attribute `integrity`: `sha256-` and SHA-256 in base64. */
  readonly integrity: string;
}

export type WebReaderFiles = Readonly<Record<WebReaderScript, WebReaderFile>>;

/** `undefined` where scripts/build-web-reader.ts has not built them. @param folder - for tests */
export function readWebReader(folder?: string): WebReaderFiles | undefined {
  const files: Partial<Record<WebReaderScript, WebReaderFile>> = {};
  for (const name of SCRIPTS) {
    const content = readIfThere(`${name}.js`, folder);
    if (content === undefined) return undefined;
    files[name] = fileOf(content);
  }
  return files as WebReaderFiles;
}

export interface ScriptAddress {
  readonly src: string;
  readonly integrity: string;
}

/** The address under which a script never has another content. */
export function addressOf(path: string, file: WebReaderFile): ScriptAddress {
  return { src: `${path}?v=${versionOf(file)}`, integrity: file.integrity };
}

/** Writes it as in an address. */
export function versionOf({ integrity }: WebReaderFile): string {
  return Buffer.from(integrity.slice('sha256-'.length), 'base64').toString('base64url');
}

/** Site of a worker: whose documents it reads, who signs them, and where keys are had. */
export interface WorkerSite {
  /** The page that has keys, on a site without a key server. */
  readonly keys?: string;
  /** Origin of the vault: `reading` in the descriptor of a site with a key server. */
  readonly reading?: string;
  readonly root: string;
  readonly site: string;
}

/** The worker of a site, which has it in front: whatever stands in the browser's storage, published scripts can write to. */
export function workerFor(files: WebReaderFiles, { keys, reading, root, site }: WorkerSite): WebReaderFile {
  const scripts = Object.fromEntries(SCRIPTS_OF_WORKER.map((name) => [name, addressOf(`/-/${name}.js`, files[name])]));
  const named = `self.wisprSite=${JSON.stringify({ keys, reading, root, scripts, site })};`;
  return fileOf(Buffer.concat([Buffer.from(named), files[keys ? 'root-worker' : 'worker'].content]));
}

/** The program as browsers of a site with a key server get it, for the publisher to sign and for others to compare. */
export function programOf(files: WebReaderFiles, site: WorkerSite): ReaderProgram {
  const served = Object.entries({ ...files, worker: workerFor(files, site) });
  return Object.fromEntries(
    served
      .filter(([name]) => !WITHOUT_KEY_SERVER.includes(name))
      .map(([name, { content }]) => [name, createHash('sha256').update(content).digest('hex')]),
  );
}

/** A file as it is served. */
export function fileOf(content: Buffer): WebReaderFile {
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

function readIfThere(file: string, folder: string | undefined): Buffer | undefined {
  try {
    if (folder !== undefined) return readFileSync(join(folder, file));
    return readProgramFile(`../dist/web-reader/${file}`, import.meta.url);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
