/** `wispr withdraw --gone`: places that are gone for good, by the publisher's word. */
import { resolve } from 'node:path';
import { readConfiguration } from '../publisher/configuration/read.ts';
import { readLastPublished, rememberPublished } from '../publisher/last-published.ts';
import {
  type LastPublished,
  type Place,
  placesToWithdraw,
  withoutKeyServer,
  withoutPlace,
  withWithdrawn,
} from '../publisher/published-places.ts';
import { type Workspace, withLock } from '../publisher/workspace.ts';
import { urgentlyBusy } from './confirm-words.ts';
import type { ConfirmFlags } from './confirmed.ts';
import { UsageError } from './io/voice.ts';

/**
 * Forgets them, and what they owe. What is withdrawn stays so here, and is owed by whoever is left.
 *
 * @returns whether there were targets among them
 * @throws UsageError where nothing was published to one of them; PublishError `workspace-busy`
 */
export async function giveUpGone(workspace: Workspace, { gone = [] }: ConfirmFlags, version: number): Promise<boolean> {
  if (gone.length === 0) return false;
  const { keyServer, out } = await readConfiguration(workspace.configuration);
  const own = resolve(workspace.directory, out);
  const change = (last: LastPublished) => {
    const places = gone.filter((named) => !isKeyServer(named, keyServer)).map((named) => placeNamed(last, named, own));
    const before = places.length < gone.length ? withoutKeyServer(last) : last;
    const left = places.reduce(withoutPlace, before);
    return version <= last.highest ? withOwing(left, version) : left; // what was never made is not withdrawn by that
  };
  change(await readLastPublished(workspace)); // what is typed wrong is said before anything
  await withLock(workspace, () => rememberPublished(workspace, change)).catch((error: unknown) => {
    throw urgentlyBusy(error, version);
  });
  return !gone.every((named) => isKeyServer(named, keyServer));
}

/** Whatever ends the run then, those that are left are to have it. */
function withOwing(last: LastPublished, version: number): LastPublished {
  const places = placesToWithdraw(last, version);
  return withWithdrawn(last, version, { places, keyServer: last.keyServer.told >= version });
}

/** Whether a key server is what is named. */
export function isKeyServer(named: string, keyServer: string): boolean {
  return named === keyServer || named === `${keyServer}/`;
}

function placeNamed({ places }: LastPublished, named: string, out: string): Place {
  const names = [named, resolve(named)];
  const found = places.find(({ target }) => names.includes(target ?? out));
  if (found) return found.target;
  const known = places.map(({ target }) => target ?? out).join(', ');
  throw new UsageError(
    `nothing was published to ${named}`,
    known === '' ? 'leave --gone out' : `these places are remembered: ${known}`,
  );
}
