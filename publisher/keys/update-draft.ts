/** Changes a file that waits for signatures while nobody else here does. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PublishError } from '../errors.ts';
import { CONFIGURATION_FILE, withLock, workspaceOf } from '../workspace.ts';

/** Where the file lies in a workspace, its publisher may be at work on it as well. */
export async function withDraftFile<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  const configuration = join(dirname(file), CONFIGURATION_FILE);
  return existsSync(configuration) ? withLock(workspaceOf(configuration), work) : work();
}

/** What was shown is not what would be signed. */
export function changedMeanwhile(file: string): PublishError {
  return new PublishError('draft-stale', `${file}, or what is remembered beside your key, changed meanwhile`, {
    hint: 'nothing was signed: run the command again, and look at what is shown then',
  });
}
