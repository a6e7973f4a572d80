/** Finds the place where `wispr protect` works, before it knows the keys. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { nowInSeconds } from '../../node-support/clock.ts';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { isInside, SourceWalk } from '../site/walk.ts';
import { readConfiguration } from '../workspace/configuration/read.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import { type Workspace, workspaceOf } from '../workspace/workspace.ts';

export interface LocationOptions {
  readonly configurationFile: string;
  /** Takes the place of `out` in the configuration; relative to it. */
  readonly out?: string;
  /** Paths of documents, and directories of them, besides which everything stays as it was protected last. */
  readonly only?: readonly string[] | undefined;
  /** Seconds since 1970; the clock if left out. */
  readonly now?: number;
}

export interface SiteLocation {
  readonly workspace: Workspace;
  readonly configuration: Configuration;
  /** Walks through the directory of the site once. */
  readonly walk: SourceWalk;
  readonly only: readonly string[] | undefined;
  readonly out: string;
  readonly now: number;
}

/** @throws PublishError */
export async function locate({
  configurationFile,
  out: named,
  only,
  now = nowInSeconds(),
}: LocationOptions): Promise<SiteLocation> {
  const workspace = workspaceOf(configurationFile);
  const configuration = await readConfiguration(workspace.configuration);
  const source = resolve(workspace.directory, configuration.source);
  const out = resolveOutput(named ?? configuration.out, source, workspace);
  const walk = new SourceWalk(source, configuration, only);
  return { workspace, configuration, walk, only, out, now };
}

/**
 * Resolves the path of the output, with its links, and makes sure that nothing of the publisher's own lies in its way.
 *
 * @throws PublishError `configuration-invalid`
 */
function resolveOutput(out: string, source: string, workspace: Workspace): string {
  const target = resolveMissing(resolve(workspace.directory, out));
  const realSource = resolveMissing(source);
  const refuse = (message: string) => new PublishError('configuration-invalid', message);
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

/** Returns the real path of something that need not exist yet. */
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
