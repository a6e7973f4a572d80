/** Places where a site is published: the targets that `wispr.json` or the command line names. */
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DirectoryTarget } from '../../node-support/storage/directory.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { readToken } from '../authority/key-server.ts';
import { PublishError } from '../errors.ts';
import { resolveMissing } from '../protect/location.ts';
import { isInside } from '../site/walk.ts';
import { readConfiguration } from '../workspace/configuration/read.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import { type Workspace, workspaceOf } from '../workspace/workspace.ts';

export interface NamedTargets {
  readonly configurationFile: string;
  /** A target in place of those in `wispr.json`. */
  readonly target?: string | undefined;
  /** Replaces `keyServerTokenFile`. */
  readonly tokenFile?: string | undefined;
}

export interface PublishTargets {
  readonly configurationFile: string;
  readonly configuration: Configuration;
  readonly workspace: Workspace;
  /** The protected site; absolute. */
  readonly out: string;
  /** Targets of the site. Empty: `out` itself is what is served. */
  readonly targets: readonly Target[];
  /** A target that was named on the command line and is not in `wispr.json`: nothing else goes there. */
  readonly isUnlisted: boolean;
  readonly token: string | undefined;
}

/**
 * Reads the configuration, and opens the targets. Nothing is asked of them yet.
 *
 * @throws PublishError `configuration-invalid`, `token-refused`; StorageError `argument-invalid`
 */
export async function locateTargets({ configurationFile, target, tokenFile }: NamedTargets): Promise<PublishTargets> {
  const configuration = await readConfiguration(configurationFile);
  const workspace = workspaceOf(configurationFile);
  const { directory } = workspace;
  const out = resolve(directory, configuration.out);
  const place: SitePlace = { workspace, source: resolve(directory, configuration.source), out };
  const { publish = [] } = configuration;
  const listed = await openTargets(typeof publish === 'string' ? [publish] : publish, directory, place);
  const named = target === undefined ? undefined : await openTargets([target], '.', place);
  const file = tokenFile === undefined ? configuration.keyServerTokenFile : resolve(tokenFile);
  return {
    ...{ configurationFile, configuration, workspace, out },
    targets: named ?? listed,
    isUnlisted: named?.some(({ name }) => !listed.some((other) => other.name === name)) ?? false,
    token: file === undefined ? undefined : await readToken(resolve(directory, file)),
  };
}

export function missingDirectories(targets: readonly Target[]): string[] {
  return targets
    .filter((target) => target instanceof DirectoryTarget && !existsSync(target.name))
    .map(({ name }) => name);
}

interface SitePlace extends Pick<PublishTargets, 'workspace' | 'out'> {
  readonly source: string;
}

/** Opens targets. A target named twice is one target; `out` is none. */
async function openTargets(texts: readonly string[], base: string, place: SitePlace): Promise<Target[]> {
  const targets = new Map<string, Target>();
  for (const text of texts) {
    const target = await openTarget(text, base);
    if (!(target instanceof DirectoryTarget) || !isOutput(target, place)) targets.set(target.name, target);
  }
  return [...targets.values()];
}

/** @throws StorageError `argument-invalid`; PublishError `configuration-invalid` */
function isOutput({ name }: DirectoryTarget, place: SitePlace): boolean {
  if (statSync(name, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new StorageError('argument-invalid', `${name} is not a directory`, { typed: true });
  const directory = resolveMissing(name);
  const [out, source] = [resolveMissing(place.out), resolveMissing(place.source)];
  if (directory === out) return true;
  const keys = resolveMissing(dirname(place.workspace.keyStore));
  if (isInside(keys, directory))
    throw overlap(directory, 'the keys of this site lie inside it, and would be served with it');
  if (isInside(source, directory) || isInside(directory, source))
    throw overlap(directory, `it and the source ${source} lie inside one another`);
  if (isInside(out, directory) || isInside(directory, out))
    throw overlap(directory, `it and the output ${out} lie inside one another`);
  return false;
}

function overlap(target: string, reason: string): PublishError {
  return new PublishError('configuration-invalid', `cannot publish to ${target}: ${reason}`, { fields: { target } });
}
