/** Whether publishing somewhere else leaves the place where readers are served now without what a key server sends them to. */
import { nowInSeconds } from '../node-support/clock.ts';
import { openOutput } from '../publisher/publication/own.ts';
import { currentPublication, type LastPublished } from '../publisher/published-places.ts';
import type { PublicationPlaces } from './publication-places.ts';

interface Served extends Pick<PublicationPlaces, 'target' | 'token' | 'out' | 'configured'> {
  readonly configuration: Pick<PublicationPlaces['configuration'], 'publish'>;
}

/**
 * @param protects - whether another publication may be made first
 * @returns the name of that place. `undefined` where it has, or is, what is to be published, or no key server is told of it
 */
export async function leftBehind(
  last: LastPublished,
  { target, token, out, configuration, configured }: Served,
  protects: boolean,
): Promise<string | undefined> {
  const { current } = last;
  if (configuration.publish !== undefined && configured === undefined) return undefined; // nobody has typed that by mistake
  // What lies in the output itself is there, whatever it is.
  if (token === undefined || typeof current !== 'string' || current === target?.name) return undefined;
  if (protects) return current;
  const { version } = (await openOutput(out, { now: nowInSeconds() })).state.snapshot;
  return currentPublication(last)?.version === version ? undefined : current;
}
