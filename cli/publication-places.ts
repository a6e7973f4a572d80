/** Where commands that publish work: the workspace, its target, and the token for its key server. */
import { dirname, resolve } from 'node:path';
import type { Target } from '../node-support/storage/target.ts';
import { readConfiguration } from '../publisher/configuration/read.ts';
import type { Configuration } from '../publisher/configuration/schema.ts';
import { readToken } from '../publisher/publish/key-server.ts';
import { resolveTarget, tokenFileOf } from '../publisher/publish/resolve-target.ts';
import { type Workspace, workspaceOf } from '../publisher/workspace.ts';
import { locateConfiguration } from './locate-configuration.ts';

/** A workspace, and where its site is served; known before anybody types a passphrase. */
export interface PublicationPlaces {
  readonly configurationFile: string;
  readonly configuration: Configuration;
  readonly workspace: Workspace;
  readonly out: string;
  readonly target: Target | undefined;
  readonly token: string | undefined;
}

/**
 * Finds them by the configuration, the command line first.
 *
 * @param named - the target
 * @throws UsageError, PublishError, StorageError
 */
export async function locatePlaces(
  named: string | undefined,
  { config, tokenFile }: { readonly config?: string | undefined; readonly tokenFile?: string | undefined },
): Promise<PublicationPlaces> {
  const configurationFile = locateConfiguration(undefined, config);
  const configuration = await readConfiguration(configurationFile);
  const workspace = workspaceOf(configurationFile);
  const out = resolve(workspace.directory, configuration.out);
  const file = tokenFileOf(tokenFile, configuration.keyServerTokenFile, workspace);
  const token = file === undefined ? undefined : await readToken(file);
  const base = named === undefined ? dirname(workspace.configuration) : '.';
  const text = named ?? configuration.publish;
  const source = resolve(workspace.directory, configuration.source);
  const target = text === undefined ? undefined : await resolveTarget(text, { workspace, source, out, base });
  return { configurationFile, configuration, workspace, out, target, token };
}
