/** Finds the highest publication that the authority or a target has: what is published next gets a number above it. */
import type { Target } from '../../node-support/storage/target.ts';
import { shownAt, verifiedTimestamp } from '../authority/authority.ts';
import { placeAtKeyServer } from '../authority/key-server.ts';
import { findSnapshot, readSnapshot, type SignedSnapshot } from '../publication/signed.ts';
import { type PublicationSource, sourceAtTarget } from '../publication/sources.ts';
import { eachTarget, type Failed } from './each-target.ts';
import type { Site } from './site.ts';

/** Numbers that are looked for, at most, above the one that a target shows: uploads that were never finished. */
const MOST_UNFINISHED = 64;

export interface Reached {
  readonly reachable: readonly Target[];
  readonly failures: readonly Failed[];
}

/** The snapshots are `undefined` before the first publication. */
export interface Highest extends Reached {
  readonly snapshot: SignedSnapshot | undefined;
  /** Snapshot that the authority's timestamp names. */
  readonly current: SignedSnapshot | undefined;
}

/**
 * Asks all targets and the authority. A claim of a number counts only with the snapshot that goes with it: the key of timestamps alone makes no
 * publication.
 *
 * @throws PublishError `key-server-refused`, `stopped`
 */
export async function findHighest(site: Site): Promise<Highest> {
  const { targets, signal } = site;
  const { done, failures } = await eachTarget(targets, (target) => highestAt(target, site), {
    ...{ limit: site.targetLimit, signal },
  });
  const reachable = [...done.keys()];
  const current = await findCurrent(site, reachable.map(sourceAtTarget));
  const found = [current, ...done.values()].filter((snapshot) => snapshot !== undefined);
  const [snapshot] = found.sort((a, b) => b.file.version - a.file.version);
  return { snapshot, current, reachable, failures };
}

/**
 * Finds the snapshot that the authority's timestamp names.
 *
 * @param others - where it is looked for if neither `out` nor the key server has it
 * @returns `undefined` before the first publication, or if it is nowhere
 */
export async function findCurrent(
  { authority, output, keyServer, roots }: Site,
  others: readonly PublicationSource[] = [],
): Promise<SignedSnapshot | undefined> {
  const current = await authority.current();
  const places = [output, ...(keyServer ? [placeAtKeyServer(keyServer)] : []), ...others];
  return current && findSnapshot(current.timestamp.snapshot, places, roots);
}

/** Finds the snapshot that a target shows, or has above that. The authority takes note of it. */
export async function highestAt(target: Target, { roots, authority }: Site): Promise<SignedSnapshot | undefined> {
  const place = sourceAtTarget(target);
  const shown = await shownAt(place, roots);
  if (shown && (await verifiedTimestamp(shown.bytes, roots.slice(0, 1)))) await authority.learn(shown);
  let highest = shown?.snapshot;
  for (let step = 0; highest !== undefined && step < MOST_UNFINISHED; step++) {
    const next = await readSnapshot(highest.file.version + 1, place, roots);
    if (next === undefined) break;
    highest = next;
  }
  return highest;
}
