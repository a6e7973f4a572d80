/** Where the output goes: nowhere near what the publisher has to keep. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { isInside } from '../site/walk.ts';
import type { Workspace } from '../workspace.ts';

/**
 * Where the output goes, with links resolved, once it is sure that nothing of the publisher's own lies in its way.
 *
 * @throws PublishError `workspace-overlap`
 */
export function resolveOutput(out: string, source: string, workspace: Workspace): string {
  const target = resolveMissing(resolve(workspace.directory, out));
  const realSource = resolveMissing(source);
  const refuse = (message: string) =>
    new PublishError('workspace-overlap', message, { hint: 'change "out" or "source" in wispr.json' });
  if (isInside(target, realSource))
    throw refuse(`the output ${target} lies inside the source, and would be published again`);
  if (isInside(realSource, target)) throw refuse(`the source lies inside the output ${target}, and would be published`);
  for (const file of [workspace.keyStore, workspace.configuration, workspace.database]) {
    const real = resolveMissing(file);
    if (isInside(real, target)) throw refuse(`${file} lies inside the output ${target}, and would be published`);
    if (isInside(real, realSource)) throw refuse(`${file} lies inside the source, and would be published`);
  }
  return target;
}

/** The real path of something that need not exist yet. */
export function resolveMissing(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT' || dirname(path) === path) {
      throw new PublishError('output-failed', `cannot look at ${path}: ${systemReason(error)}`, { cause: error });
    }
    return join(resolveMissing(dirname(path)), basename(path));
  }
}
