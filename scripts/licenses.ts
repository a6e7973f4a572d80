/** The texts that licences ask to be passed on with what is bundled. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** The folders of the packages in a bundle, from the inputs of esbuild's metafile. */
export function packagesIn(inputs: readonly string[]): string[] {
  const folders = inputs.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(folders)].sort();
}

const TEXTS = '{LICENSE,LICENCE,license,licence}*';

/** Whether a package comes with the text of its licence. */
export function hasLicence(folder: string): boolean {
  return globSync(TEXTS, { cwd: join(ROOT, folder) }).length > 0;
}

/**
 * wispr's own licence, then those of packages.
 *
 * @param folders - of packages, from the root of the clone
 * @throws Error where a package has no text of its licence
 */
export function licencesOf(folders: readonly string[]): string {
  return ['.', ...folders].map(licenceOf).join(`\n${'-'.repeat(80)}\n\n`);
}

function licenceOf(folder: string): string {
  const { name, version } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
  const [file] = globSync(TEXTS, { cwd: join(ROOT, folder) }).sort();
  if (file === undefined) throw new Error(`${name} has no text of its licence`);
  const text = readFileSync(join(ROOT, folder, file), 'utf8').trim();
  return `${folder === '.' ? 'wispr' : name} ${version}\n\n${text}\n`;
}
