/** The texts that licences ask to be passed on with what is bundled. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** The folders of the packages in a bundle, from the inputs of esbuild's metafile. */
export function packagesIn(inputs: readonly string[]): string[] {
  const folders = inputs.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(folders)].sort();
}

/** wispr's own licence, then those of packages, by folders from the root. @throws Error where one has no text */
export function licencesOf(folders: readonly string[]): string {
  return ['.', ...folders].map(licenceOf).join(`\n${'-'.repeat(80)}\n\n`);
}

function licenceOf(folder: string): string {
  const { name, version } = manifestOf(folder);
  const text = textOf(folder);
  if (text === undefined) throw new Error(`${name} has no text of its licence`);
  return `${folder === '.' ? 'wispr' : name} ${version}\n\n${text.trim()}\n`;
}

/** Tells whether the text of a package's licence is known. */
export function hasLicence(folder: string): boolean {
  return textOf(folder) !== undefined;
}

/** Finds the text in a file of its own, or at the end of its README; Apache's is known without. */
function textOf(folder: string): string | undefined {
  const own = read(folder, '{LICENSE,LICENCE,license,licence}*');
  const atEnd = /^## licen[cs]e\n(.*)/ims.exec(read(folder, 'README.md') ?? '')?.[1];
  return own ?? atEnd ?? (manifestOf(folder).license === 'Apache-2.0' ? read('.', 'LICENSE') : undefined);
}

function manifestOf(folder: string): { name: string; version: string; license?: string } {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
}

function read(folder: string, pattern: string): string | undefined {
  const [file] = globSync(pattern, { cwd: join(ROOT, folder) }).sort();
  return file && readFileSync(join(ROOT, folder, file), 'utf8');
}
