/**
 * Bundles the in-browser reader, one script for each `web-reader/<name>/main.ts`: into `dist/web-reader/`, from where the key server serves them
 * (node-support/web-reader-files.ts). Part of setting up, and of building the package. The same sources and packages give the same bytes.
 */
import { globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { WEB_READER_FOLDER } from '../node-support/web-reader-files.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Bytes of all scripts together, by gzip. */
export const WEB_READER_BUDGET = 40 * 1024;

/** By file name: `worker.js`, `start.js`, `vault.js`. */
export async function bundleWebReader(): Promise<Map<string, Uint8Array>> {
  const entries = globSync('web-reader/*/main.ts', { cwd: ROOT }).sort();
  const bundled = new Map<string, Uint8Array>();
  for (const entry of entries) bundled.set(`${basename(dirname(entry))}.js`, await bundle(entry));
  return bundled;
}

async function bundle(entry: string): Promise<Uint8Array> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    format: 'iife', // classic scripts: a worker that is a module is not known everywhere
    platform: 'browser',
    target: 'es2022',
    legalComments: 'eof',
    logLevel: 'error',
    plugins: [withoutCatalogues],
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`esbuild wrote nothing for ${entry}`);
  return output.contents;
}

/** What errors mean is told to people at a terminal, and in docs/errors.md; pages of the in-browser reader have sentences of their own. */
const withoutCatalogues: import('esbuild').Plugin = {
  name: 'without catalogues',
  setup: ({ onLoad }) => {
    onLoad({ filter: /[/\\]errors\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8').replace(
        /^(?: {2})(['\w-]+): \{\n(?: {4}.*\n)*? {2}\},\n/gm,
        '  $1: {},\n',
      );
      return { contents: text, loader: 'ts' };
    });
  },
};

/** Bytes by gzip, as browsers ask for them. */
export function gzipLengthOf(contents: Uint8Array): number {
  return gzipSync(contents, { level: 9 }).length;
}

/** Writes all bundles; each file is whole at every moment. */
export async function writeWebReader(): Promise<Map<string, Uint8Array>> {
  const bundles = await bundleWebReader();
  mkdirSync(WEB_READER_FOLDER, { recursive: true });
  for (const [name, contents] of bundles) {
    const temporary = join(WEB_READER_FOLDER, `.${name}.${process.pid}`);
    writeFileSync(temporary, contents);
    renameSync(temporary, join(WEB_READER_FOLDER, name));
  }
  return bundles;
}

if (import.meta.main) {
  const isQuiet = process.argv.includes('--quiet');
  const lengths = Array.from(await writeWebReader(), ([name, contents]) => [name, gzipLengthOf(contents)] as const);
  const total = lengths.reduce((sum, [, length]) => sum + length, 0);
  const kib = (length: number) => `${(length / 1024).toFixed(1)} KiB`;
  const list = lengths.map(([name, length]) => `${name} ${kib(length)}`).join(', ');
  if (!isQuiet) process.stderr.write(`build-web-reader: ${list}; ${kib(total)} by gzip in all\n`);
}
