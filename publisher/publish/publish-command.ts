/** `wispr publish` as hints name it: with the target where nothing else says it, so that following them does not publish to "out". */
import { dirname, resolve } from 'node:path';
import { shellWord } from '../../node-support/printable.ts';
import { readConfiguration } from '../configuration/read.ts';
import { readLastPublished } from '../last-published.ts';
import { currentPlace } from '../published-places.ts';
import { workspaceOf } from '../workspace.ts';

/**
 * @param target - where it was published to last, or is to be; left out where `wispr.json` says it, or where that is `out` itself
 */
export function publishCommand(target?: string | null): string {
  return target ? `wispr publish ${shellWord(target)}` : 'wispr publish';
}

/**
 * The command that publishes once more to where it was published last.
 *
 * @throws PublishError where there is no good workspace
 */
export async function publishAgainCommand(configurationFile: string): Promise<string> {
  const { publish } = await readConfiguration(configurationFile);
  const target = currentPlace(await readLastPublished(workspaceOf(configurationFile)))?.target;
  const isConfigured =
    publish !== undefined && [publish, resolve(dirname(configurationFile), publish)].some((name) => name === target);
  return publishCommand(isConfigured ? undefined : target);
}
