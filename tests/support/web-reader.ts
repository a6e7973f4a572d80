/** The in-browser reader as the sources have it, built once for a whole run. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { askFor, offer } from './once-a-run.ts';

/** Waits until it is in `dist/web-reader/`. */
export async function buildWebReader(): Promise<void> {
  await askFor('webReader');
}

/** Vitest's global set-up. @returns the end of it */
export default function offerWebReader(project: TestProject): Promise<() => Promise<void>> {
  const build = () => promisify(execFile)(process.execPath, ['scripts/build-web-reader.ts', '--quiet']);
  return offer(project, 'webReader', build, () => '');
}
