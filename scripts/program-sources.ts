/** Sources of the commands, for the scripts that pack them: scripts/build-package.ts and scripts/build-single.mjs. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAM_FOLDERS } from './structure.ts';

const ROOT = join(import.meta.dirname, '..');
/** The in-browser reader comes built, but for its error codes. */
const SOURCES = [...PROGRAM_FOLDERS, 'examples/newspaper', 'web-reader/errors.ts'];

/** Paths from the root of the clone, in order; only what Git tracks: whatever else lies there may be secret. */
export function programSources(): string[] {
  const args = ['ls-files', '-z', '--', ...SOURCES];
  const files = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\0');
  return [...new Set(files)].filter((file) => file !== '' && existsSync(join(ROOT, file))).sort();
}
