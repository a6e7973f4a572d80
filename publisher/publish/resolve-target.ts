/** Finds the target that a person named, and makes sure that it is a place for published files and nothing else. */
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DirectoryTarget } from '../../node-support/storage/directory.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';
import { resolveMissing } from '../protect/resolve-output.ts';
import { isInside } from '../site/walk.ts';
import type { Workspace } from '../workspace.ts';

export interface TargetPlace {
  readonly workspace: Workspace;
  /** The site's own directory, and that of its protected form; absolute. */
  readonly source: string;
  readonly out: string;
  /** Relative targets are taken from here. */
  readonly base: string;
}

/**
 * @returns `undefined` where the target is `out` itself
 * @throws StorageError `target-invalid`; PublishError `workspace-overlap`
 */
export async function resolveTarget(text: string, place: TargetPlace): Promise<Target | undefined> {
  const target = await openTarget(text, { base: place.base });
  if (!(target instanceof DirectoryTarget)) return target;
  if (statSync(target.name, { throwIfNoEntry: false })?.isDirectory() === false) {
    throw new StorageError('target-invalid', `${target.name} is not a directory`, {
      typed: true,
      hint: 'name the directory that is served',
    });
  }
  const directory = resolveMissing(target.name);
  const [out, source] = [resolveMissing(place.out), resolveMissing(place.source)];
  if (directory === out) return undefined;
  const keys = resolveMissing(dirname(place.workspace.keyStore));
  const refuse = (message: string) =>
    new PublishError('workspace-overlap', message, {
      hint: 'name another directory, which is served and nothing else',
    });
  if (isInside(keys, directory))
    throw refuse(`the keys of this site lie inside ${directory}, and would be served with it`);
  if (isInside(source, directory) || isInside(directory, source))
    throw refuse(
      `the target ${directory} ${source === directory ? 'is the source itself' : `and the source ${source} lie inside one another`}`,
    );
  if (isInside(out, directory) || isInside(directory, out))
    throw refuse(`the target ${directory} and the output ${out} lie inside one another`);
  return target;
}

/** The directory that a target would be in, if it is not there yet. */
export function missingDirectory(target: Target): string | undefined {
  return target instanceof DirectoryTarget && !existsSync(target.name) ? target.name : undefined;
}

/** The file of the key server's token that `wispr.json` or a person names. */
export function tokenFileOf(
  named: string | undefined,
  configured: string | undefined,
  workspace: Workspace,
): string | undefined {
  if (named !== undefined) return resolve(named);
  return configured === undefined ? undefined : resolve(workspace.directory, configured);
}
