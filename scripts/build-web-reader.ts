/**
 * Bundles the in-browser reader, one script for each `web-reader/<name>/main.ts`: into `dist/web-reader/`, from where the key server serves them
 * (node-support/web-reader-files.ts). Part of setting up, and of building the package. The same sources and packages give the same bytes.
 */
import { globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { readWebReader, WEB_READER_FOLDER } from '../node-support/web-reader-files.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** By file name, such as `worker.js`. */
async function bundleWebReader(): Promise<Map<string, Uint8Array>> {
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
    plugins: [withoutWords],
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`esbuild wrote nothing for ${entry}`);
  return output.contents;
}

/**
 * Leaves out words that no reader sees: what the errors of a catalogue mean, which people read at a terminal and in docs/errors.md, and what noble says
 * to programmers who pass something wrong. Codes, and what happened, stay.
 */
const withoutWords: Plugin = {
  name: 'without words',
  setup: ({ onLoad }) => {
    const loads = (filter: RegExp, loader: 'js' | 'ts', pattern: RegExp, by: string) =>
      onLoad({ filter }, ({ path }) => ({ contents: readFileSync(path, 'utf8').replace(pattern, by), loader }));
    loads(/[/\\]errors\.ts$/, 'ts', /^ {2}(['\w-]+): \{\n(?: {4}.*\n)*? {2}\},\n/gm, '  $1: {},\n');
    loads(/[/\\]@noble[/\\].*\.js$/, 'js', /throw new (\w*Error)\([^;\n]*\);$/gm, 'throw new $1();');
  },
};

/** Writes all bundles; each file is whole at every moment. */
export async function writeWebReader(): Promise<void> {
  const bundles = await bundleWebReader();
  mkdirSync(WEB_READER_FOLDER, { recursive: true });
  for (const [name, contents] of bundles) {
    const temporary = join(WEB_READER_FOLDER, `.${name}.${process.pid}`);
    writeFileSync(temporary, contents);
    renameSync(temporary, join(WEB_READER_FOLDER, name));
  }
}

if (import.meta.main) {
  await writeWebReader();
  const lengths = Array.from(readWebReader()?.files ?? [], ([name, { gzip }]) => [name, gzip.length] as const);
  const total = lengths.reduce((sum, [, length]) => sum + length, 0);
  const kib = (length: number) => `${(length / 1024).toFixed(1)} KiB`;
  const list = lengths.map(([name, length]) => `${name} ${kib(length)}`).join(', ');
  if (!process.argv.includes('--quiet'))
    process.stderr.write(`build-web-reader: ${list}; ${kib(total)} by gzip in all\n`);
}
