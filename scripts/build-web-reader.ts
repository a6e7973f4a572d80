/**
 * Bundles the in-browser reader, one script for each `web-reader/<name>/main.ts`: into `dist/web-reader/`, from where the key server serves them
 * (node-support/web-reader-files.ts). Part of setting up, and of building the package. The same sources and packages give the same bytes.
 */
import { globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { minify } from 'terser';
import { readWebReader } from '../node-support/web-reader-files.ts';
import { licencesOf, packagesIn } from './licenses.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = join(ROOT, 'dist/web-reader');

/** Bundles by file name, such as `worker.js`, and the folders of the packages in them. */
async function bundleWebReader(): Promise<{ bundles: Map<string, Uint8Array>; packages: string[] }> {
  const entries = globSync('web-reader/*/main.ts', { cwd: ROOT }).sort();
  const bundles = new Map<string, Uint8Array>();
  const inputs: string[] = [];
  for (const entry of entries) {
    const { outputFiles, metafile } = await bundle(entry);
    for (const { text } of outputFiles) bundles.set(`${basename(dirname(entry))}.js`, await shorten(text));
    inputs.push(...Object.keys(metafile.inputs));
  }
  return { bundles, packages: packagesIn(inputs) };
}

function bundle(entry: string) {
  return build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: 'iife', // classic scripts: a worker that is a module is not known everywhere
    platform: 'browser',
    target: 'es2022',
    legalComments: 'eof',
    logLevel: 'error',
    plugins: [withoutWords],
  });
}

/** Shortens what esbuild leaves long: functions that are used once, and names of each function's own. About 6 % of what readers load. */
async function shorten(script: string): Promise<Uint8Array> {
  const { code = '' } = await minify(script, { ecma: 2020, compress: { passes: 3 } });
  return Buffer.from(code);
}

/**
 * Words that no reader sees, by the files that have them: the entries of error catalogues, which people read at a terminal and in
 * docs/generated/errors.md; what noble and core/ say to programmers who pass something wrong; what a publisher's own programs say of metadata,
 * settings, descriptors, key files and titles; and of keys what happened, for the vault's page shows the code alone. What is wrong with a document stays.
 */
const WORDS: readonly (readonly [files: RegExp, words: RegExp, by: string])[] = [
  [/[/\\]errors\.ts$/, /^ {2}['\w-]+: \{\n(?: {4}.*\n)*? {2}\},\n/gm, ''],
  [/[/\\]core[/\\]keys[/\\]/, /(new KeyError\(\s*'[\w-]+',\s*)(?:'[^'\\\n]*'|"[^"\\\n]*")/g, "$1''"],
  [
    /[/\\]core[/\\](?:keys|publication)[/\\]/,
    /(throw malformed\()(\w+, |'\w+', )?(?:'[^'\n]*'|`[^`\n]*`)\);/g,
    "$1$2'');",
  ],
  [/[/\\]@noble[/\\].*\.js$/, /throw new (\w*Error)\([^;\n]*\);$/gm, 'throw new $1();'],
  [/[/\\]set-titles\.ts$/, /return (['"`]).*\1;$/gm, "return '';"],
  [
    /[/\\](?:core[/\\]\w+|reading)[/\\][\w-]+\.ts$/,
    /throw new ((?:Range|Type)?Error)\([^;\n]*\);$/gm,
    'throw new $1();',
  ],
];

const withoutWords: Plugin = {
  name: 'without words',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.[jt]s$/ }, ({ path }) => {
      const words = WORDS.filter(([files]) => files.test(path));
      const contents = words.reduce((text, [, each, by]) => text.replace(each, by), readFileSync(path, 'utf8'));
      return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
    }),
};

/** Writes all bundles and their licences, each file whole at every moment. @returns the folders of the packages */
export async function writeWebReader(folder = FOLDER): Promise<string[]> {
  const { bundles, packages } = await bundleWebReader();
  mkdirSync(folder, { recursive: true });
  for (const [name, contents] of [...bundles, ['licenses.txt', licencesOf(packages)] as const]) {
    const temporary = join(folder, `.${name}.${process.pid}`);
    writeFileSync(temporary, contents);
    renameSync(temporary, join(folder, name));
  }
  return packages;
}

if (import.meta.main) {
  await writeWebReader();
  const lengths = Object.entries(readWebReader() ?? {}).map(([name, { gzip }]) => [name, gzip.length] as const);
  // Browsers with an ML-KEM of their own, and there are such, never load this one.
  const total = lengths.reduce((sum, [name, length]) => (name === 'ml-kem' ? sum : sum + length), 0);
  const kib = (length: number) => `${(length / 1024).toFixed(1)} KiB`;
  const list = lengths.map(([name, length]) => `${name} ${kib(length)}`).join(', ');
  if (!process.argv.includes('--quiet'))
    process.stderr.write(`build-web-reader: ${list}; ${kib(total)} by gzip without ml-kem\n`);
}
