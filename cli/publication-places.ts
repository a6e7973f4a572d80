/** Where commands that publish work: the workspace, its target, and the token for its key server. */
import { dirname, resolve } from 'node:path';
import type { Target } from '../node-support/storage/target.ts';
import { readConfiguration } from '../publisher/configuration/read.ts';
import type { Configuration } from '../publisher/configuration/schema.ts';
import type { Clocks } from '../publisher/publish/clock-check.ts';
import { readToken } from '../publisher/publish/key-server.ts';
import { publishCommand } from '../publisher/publish/publish-command.ts';
import { resolveTarget, tokenFileOf } from '../publisher/publish/resolve-target.ts';
import { type Workspace, workspaceOf } from '../publisher/workspace.ts';
import { locateConfiguration } from './io/arguments.ts';

/** A workspace, and where its site is served; known before anybody types a passphrase. */
export interface PublicationPlaces {
  readonly configurationFile: string;
  readonly configuration: Configuration;
  readonly workspace: Workspace;
  readonly out: string;
  readonly target: Target | undefined;
  /** The target that `wispr.json` names, where that is another. */
  readonly configured: string | undefined;
  /** What publishes there, as it is to be typed. */
  readonly publishAgain: string;
  readonly token: string | undefined;
}

/**
 * Finds them by the configuration, the command line first.
 *
 * @param named - the target
 * @param last - where it was published, whatever `wispr.json` says by now: a target's name, or `null` for the output itself
 * @throws UsageError, PublishError, StorageError
 */
export async function locatePlaces(
  named: string | undefined,
  { config, tokenFile }: { readonly config?: string | undefined; readonly tokenFile?: string | undefined },
  last?: string | null,
): Promise<PublicationPlaces> {
  const configurationFile = locateConfiguration(undefined, config);
  const configuration = await readConfiguration(configurationFile);
  const workspace = workspaceOf(configurationFile);
  const out = resolve(workspace.directory, configuration.out);
  const file = tokenFileOf(tokenFile, configuration.keyServerTokenFile, workspace);
  const token = file === undefined ? undefined : await readToken(file);
  const source = resolve(workspace.directory, configuration.source);
  const at = (text: string | null, base: string) =>
    text === null ? undefined : resolveTarget(text, { workspace, source, out, base });
  const here = dirname(workspace.configuration);
  const chosen = named ?? (last === undefined ? (configuration.publish ?? null) : last);
  const target = await at(chosen, named === undefined ? here : '.');
  const { publish } = configuration;
  const configured = publish && (await nameOf(publish, () => at(publish, here), out));
  const isOther = configured !== undefined && configured !== (target?.name ?? out);
  return {
    ...{ configurationFile, configuration, workspace, out, target, token },
    configured: isOther ? configured : undefined,
    publishAgain: publishCommand(configured === undefined || isOther ? target?.name : undefined),
  };
}

/** What cannot be opened now is not where it is published to, and is called as it was typed. */
async function nameOf(
  typed: string,
  open: () => Promise<Target | undefined> | undefined,
  out: string,
): Promise<string> {
  try {
    const target = await open();
    target?.close();
    return target?.name ?? out;
  } catch {
    return typed;
  }
}

/** Whose clocks a run can ask: whoever publishes without a token may have no network to the key server. */
export function clocksOf({ configuration, target, token }: PublicationPlaces): Clocks {
  return { target, keyServer: token === undefined ? undefined : { origin: configuration.keyServer } };
}
