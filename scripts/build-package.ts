/**
 * `prepack`: makes `lib/`, what the npm package runs. Node.js strips no types below node_modules, so each source is written without its types, at
 * the same lines and columns: stack traces need no source maps. The package is a program
 * and no library, so it has no declarations. Files that the program reads are copied beside, and `lib/package.json` maps `#…`.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { writeWebReader } from './build-web-reader.ts';
import { programSources } from './program-sources.ts';

const ROOT = join(import.meta.dirname, '..');
const LIB = join(ROOT, 'lib');

rmSync(LIB, { recursive: true, force: true });
for (const file of programSources()) write(file);
await writeWebReader(join(LIB, 'dist/web-reader'));
writePackage();

function write(file: string): void {
  mkdirSync(dirname(join(LIB, file)), { recursive: true });
  if (file.endsWith('.ts')) {
    const source = stripTypeScriptTypes(readFileSync(join(ROOT, file), 'utf8'));
    writeFileSync(join(LIB, file.replace(/ts$/, 'js')), withEndings(source));
  } else copyFileSync(join(ROOT, file), join(LIB, file));
}

/** Makes imports of `./x.ts` into those of `./x.js`, in statements and in `import()`. */
function withEndings(source: string): string {
  return source.replace(/((?:\bfrom|\bimport|\bimport\()\s*'\.{1,2}\/[^'\n]*\.)ts'/g, "$1js'");
}

function writePackage(): void {
  const { name, version, license, engines, imports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const text = JSON.stringify({ name, version, license, type: 'module', engines, imports }, null, 2);
  writeFileSync(join(LIB, 'package.json'), `${text.replace(/\.ts"/g, '.js"')}\n`);
}
