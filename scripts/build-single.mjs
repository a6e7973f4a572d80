// Builds one file with all commands, which runs without Node.js: `npm run build:single [-- DIR] [--target PLATFORM-PROCESSOR]…`, for this machine
// where none is named. Made of the Node.js that the lock file pins. Twice the same sources and packages give the same file.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { FRUGAL_FLAGS } from '../cli/start-frugally.ts';
import { writeWebReader } from './build-web-reader.ts';
import { licencesOf, packagesIn } from './licenses.ts';
import { nodeProgram, pinnedNode } from './pinned-node.ts';
import { programSources } from './program-sources.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const HOST = `${process.platform}-${process.arch}`;

/** Programs that `programOfThread` starts. The child process for the keyring is not among them: its library is native. */
const THREADS = [
  'client-proxy/documents/cache/keeping-thread.ts',
  'client-proxy/documents/opening/opening-thread.ts',
  'keyserver/hashing/thread.ts',
  'publisher/protect/writers/thread-main.ts',
];
const WEB_READER = 'dist/web-reader';
// Modules of Node.js are what old packages ask for by `require`. On a thread, `import.meta.url` is a `data:` URL.
const REQUIRE = "import { createRequire } from 'node:module';\nconst require = createRequire('file:///');";

/** Gives each source a URL of its own, as it has outside of a bundle: node-support/program-files.ts finds assets by it. */
const ownUrls = {
  name: 'own URLs',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (path.includes('node_modules')) return;
      const url = `wispr:///${relative(ROOT, path).replaceAll('\\', '/')}`;
      return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', `'${url}'`), loader: 'ts' };
    }),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { target: { type: 'string', multiple: true, default: [HOST] } },
});
const out = resolve(positionals[0] ?? join(ROOT, 'dist'));
const work = mkdtempSync(join(tmpdir(), 'wispr-single-'));
try {
  mkdirSync(out, { recursive: true });
  const assets = await collectAssets();
  for (const target of values.target) report(inject(target, assets));
} finally {
  rmSync(work, { recursive: true });
}

async function collectAssets() {
  const packages = await bundle('cli/executable.ts', join(work, 'wispr.mjs'));
  const assets = {};
  for (const thread of THREADS) {
    assets[thread] = thread.replaceAll('/', '-');
    await bundle(thread, join(work, assets[thread])); // has no package in it that is not in the program
  }
  for (const file of programSources()) if (!file.endsWith('.ts')) assets[file] = join(ROOT, file);
  packages.push(...(await writeWebReader(join(work, 'web-reader'))), relative(ROOT, pinnedNode(HOST)));
  writeFileSync(join(work, 'web-reader/licenses.txt'), licencesOf([...new Set(packages)]));
  for (const file of readdirSync(join(work, 'web-reader'))) assets[`${WEB_READER}/${file}`] = `web-reader/${file}`;
  return assets;
}

/** Bundles everything that a program imports into one module; returns the folders of the packages that are in it. */
async function bundle(entry, outfile) {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    mainFields: ['module', 'main'], // packages that choose their format as they run cannot be bundled
    metafile: true,
    logLevel: 'warning',
    banner: { js: REQUIRE },
    plugins: [ownUrls],
  });
  return packagesIn(Object.keys(metafile.inputs));
}

function inject(target, assets) {
  const output = join(out, `wispr-${version}-${target}${target.startsWith('win32') ? '.exe' : ''}`);
  const config = {
    main: 'wispr.mjs', // names become part of the file, so none says where it was made
    mainFormat: 'module',
    executable: nodeProgram(target),
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: false, // differs from one run to the next
    execArgv: FRUGAL_FLAGS, // serves all commands: protecting 400 documents takes no more with them
    execArgvExtension: 'none', // NODE_OPTIONS adds no code
    assets,
  };
  writeFileSync(join(work, 'sea.json'), JSON.stringify(config));
  rmSync(output, { force: true });
  execFileSync(process.execPath, ['--build-sea', 'sea.json'], { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] });
  return output;
}

function report(output) {
  const bytes = readFileSync(output);
  process.stdout.write(`${createHash('sha256').update(bytes).digest('hex')}  ${basename(output)}\n`);
  process.stderr.write(`build-single: wrote ${output}: ${(bytes.length / 2 ** 20).toFixed(0)} MiB\n`);
}
