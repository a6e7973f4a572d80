/** Where `wispr protect` works, and what it can do before it knows the keys. */
import { resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { nowInSeconds } from '../../node-support/clock.ts';
import { readConfiguration } from '../configuration/read.ts';
import type { Configuration } from '../configuration/schema.ts';
import type { DeriveKey } from '../keys/early-key.ts';
import { type OpenKeyStore, openKeyStore } from '../keys/key-store.ts';
import type { SourceWalk } from '../site/walk.ts';
import { readKeyStore, type Workspace, workspaceOf } from '../workspace.ts';
import { walkOf } from './plan.ts';
import { resolveOutput } from './resolve-output.ts';

export interface PlaceOptions {
  /** Path of `wispr.json`. */
  readonly configurationFile: string;
  /** Takes the place of `out` in the configuration; relative to it. */
  readonly out?: string;
  /** Seconds since 1970; the clock if left out. */
  readonly now?: number;
}

/** Where a run works. */
export interface Place {
  readonly workspace: Workspace;
  readonly configuration: Configuration;
  readonly source: string;
  readonly walk: SourceWalk;
  /** The output directory, with links resolved. */
  readonly out: string;
  readonly now: number;
}

/**
 * Reads the configuration, and what it says about places.
 *
 * @throws PublishError
 */
export async function locate({ configurationFile, out: named, now = nowInSeconds() }: PlaceOptions): Promise<Place> {
  const workspace = workspaceOf(configurationFile);
  const configuration = await readConfiguration(workspace.configuration);
  const source = resolve(workspace.directory, configuration.source);
  const out = resolveOutput(named ?? configuration.out, source, workspace);
  return { workspace, configuration, source, walk: walkOf(source, configuration), out, now };
}

/** Documents that are looked at while the key store is opened: as many as there is time for, and few enough to be kept in memory. */
const LOOK_AHEAD = 10_000;

/** Opens the key store. To derive its key from the passphrase takes a fifth of a second on another thread: meanwhile the site is looked at. */
export async function openWhileLooking(
  { workspace, walk }: Place,
  { passphrase, derive }: { readonly passphrase: string; readonly derive?: DeriveKey | undefined },
): Promise<OpenKeyStore> {
  const opening = openKeyStore(await readKeyStore(workspace), passphrase, derive);
  const looking = setImmediate().then(() => walk.lookAhead(LOOK_AHEAD)); // once the derivation is under way
  looking.catch(() => undefined); // a wrong passphrase comes first
  const store = await opening;
  await looking;
  return store;
}
