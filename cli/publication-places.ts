/** Where commands that publish work: the workspace, its target, and the token for its key server. */
import { dirname, resolve } from 'node:path';
import type { Target } from '../node-support/storage/target.ts';
import { readConfiguration } from '../publisher/configuration/read.ts';
import type { Configuration } from '../publisher/configuration/schema.ts';
import { readLastPublished } from '../publisher/last-published.ts';
import type { Clocks } from '../publisher/publish/clock-check.ts';
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
 * @param orLast - where nobody names one, it is the one that was published to last
 * @throws UsageError, PublishError, StorageError
 */
export async function locatePlaces(
  named: string | undefined,
  { config, tokenFile }: { readonly config?: string | undefined; readonly tokenFile?: string | undefined },
  { orLast = false }: { readonly orLast?: boolean } = {},
): Promise<PublicationPlaces> {
  const configurationFile = locateConfiguration(undefined, config);
  const configuration = await readConfiguration(configurationFile);
  const workspace = workspaceOf(configurationFile);
  const out = resolve(workspace.directory, configuration.out);
  const file = tokenFileOf(tokenFile, configuration.keyServerTokenFile, workspace);
  const token = file === undefined ? undefined : await readToken(file);
  const base = named === undefined ? dirname(workspace.configuration) : '.';
  const text = named ?? configuration.publish ?? (orLast ? (await readLastPublished(workspace)).target : null);
  const source = resolve(workspace.directory, configuration.source);
  const target = text === null ? undefined : await resolveTarget(text, { workspace, source, out, base });
  return { configurationFile, configuration, workspace, out, target, token };
}

/** Whose clocks a run can ask: whoever publishes without a token may have no network to the key server. */
export function clocksOf({ configuration, target, token }: PublicationPlaces): Clocks {
  return { target, keyServer: token === undefined ? undefined : { origin: configuration.keyServer } };
}
