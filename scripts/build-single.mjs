// One file that a reader downloads and runs, without Node.js: `npm run build:single [-- DIR]`, with its checksum and a bill of materials
// (CycloneDX). Made of the Node.js that the lock file pins for this platform; docs/reader.md says how the others are made. Twice the same
// sources and packages give the same program.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { FRUGAL_FLAGS } from '../cli/start-frugally.ts';
import { licencesOf, packagesIn } from './licenses.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const out = resolve(process.argv[2] ?? join(ROOT, 'dist'));
const suffix = process.platform === 'win32' ? '.exe' : '';
const output = join(out, `wispr-${version}-${process.platform}-${process.arch}${suffix}`);
/** What runs on threads that open documents: client-proxy/documents/opening/block-opener.ts starts it. */
const THREAD = 'opening-thread.mjs';
const WORDS = 'eff-large-wordlist.txt';
// What old packages ask for by `require` are modules of Node.js.
const REQUIRE = "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);";
const work = mkdtempSync(join(tmpdir(), 'wispr-single-'));
try {
  mkdirSync(out, { recursive: true });
  const packages = await bundle('cli/single.ts', join(work, 'wispr.mjs'), REQUIRE);
  await bundle('client-proxy/documents/opening/opening-thread.ts', join(work, THREAD)); // nothing in it that is not in the other
  writeFileSync(join(work, 'licenses.txt'), licencesOf([...packages, relative(ROOT, pinnedNode())]));
  inject();
  report();
} finally {
  rmSync(work, { recursive: true });
}

/** Everything that a program imports in one module; returns the folders of the packages that are in it. */
async function bundle(entry, outfile, banner = '') {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    metafile: true,
    logLevel: 'warning',
    banner: { js: banner },
  });
  return packagesIn(Object.keys(metafile.inputs));
}

/** The package of Node.js for this platform: the lock file has its hash, so readers get what was reviewed. */
function pinnedNode() {
  const folder = dirname(dirname(realpathSync(process.execPath)));
  if (dirname(folder) === realpathSync(join(ROOT, 'node_modules'))) return folder;
  throw new Error(`run it by "npm run build:single": ${process.execPath} is not the pinned Node.js`);
}

/** Everything that was installed to run, with the hashes of the lock file, as npm lists it. */
function billOfMaterials() {
  const command = ['sbom', '--omit=dev', '--sbom-format=cyclonedx', '--sbom-type=application'];
  const bill = JSON.parse(execFileSync('npm', command, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] }));
  bill.metadata.component.name = name; // npm takes the name of the folder
  return `${JSON.stringify(bill, null, 2)}\n`;
}

function inject() {
  const config = {
    main: 'wispr.mjs', // names become part of the file, so none says where it was made
    mainFormat: 'module',
    executable: process.execPath,
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: false, // it differs from one run to the next
    execArgv: FRUGAL_FLAGS,
    execArgvExtension: 'none', // NODE_OPTIONS adds no code
    assets: {
      'dist/web-reader/licenses.txt': 'licenses.txt',
      [THREAD]: THREAD,
      [WORDS]: join(ROOT, 'client-proxy/identity', WORDS),
    },
  };
  writeFileSync(join(work, 'sea.json'), JSON.stringify(config));
  rmSync(output, { force: true });
  execFileSync(process.execPath, ['--build-sea', 'sea.json'], { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] });
}

function report() {
  const bytes = readFileSync(output);
  const line = `${createHash('sha256').update(bytes).digest('hex')}  ${basename(output)}\n`;
  writeFileSync(`${output}.sha256`, line);
  writeFileSync(`${output}.cdx.json`, billOfMaterials());
  process.stdout.write(line);
  process.stderr.write(`build-single: wrote ${output}: ${(bytes.length / 2 ** 20).toFixed(0)} MiB\n`);
}
