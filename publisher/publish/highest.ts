/** Finds the highest publication that the authority or a target has: what is published next gets a number above it. */
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { verifiedTimestamp } from '../authority/authority.ts';
import { placeAtKeyServer } from '../authority/key-server.ts';
import type { PublicationPlace } from '../publication/open.ts';
import { placeAtTarget, readBounded } from '../publication/places.ts';
import { findSnapshot, readSnapshot, type SignedSnapshot } from '../publication/snapshot.ts';
import { eachTarget, type Outcome, TARGET_LIMIT } from './each-target.ts';
import { TIMESTAMP_PATH } from './places.ts';
import type { Site } from './site.ts';

/** What is at most looked for above the number that a target shows: uploads that were never finished. */
const MOST_UNFINISHED = 64;

export interface Highest {
  /** `undefined` before the first publication. */
  readonly snapshot: SignedSnapshot | undefined;
  /** Every target that could be looked at. */
  readonly reachable: readonly Target[];
  readonly failures: readonly Failed[];
}

/** A target that could not be used, and why. */
export type Failed = Extract<Outcome<never>, { readonly failure: unknown }>;

/**
 * Asks the authority and all targets. A claim of a number counts only with the snapshot that goes with it: the key of timestamps alone makes no
 * publication.
 *
 * @throws PublishError `key-server-refused`, `stopped`
 */
export async function findHighest(site: Site): Promise<Highest> {
  const [current, outcomes] = await Promise.all([
    findCurrent(site, site.targets.map(placeAtTarget)),
    eachTarget(site.targets, (target) => highestAt(target, site), { limit: TARGET_LIMIT, signal: site.signal }),
  ]);
  const found = [current, ...outcomes.flatMap((outcome) => (outcome.failure ? [] : [outcome.value]))].filter(
    (snapshot) => snapshot !== undefined,
  );
  const [highest] = found.sort((a, b) => b.file.version - a.file.version);
  return {
    snapshot: highest,
    reachable: outcomes.filter(({ failure }) => failure === undefined).map(({ target }) => target),
    failures: outcomes.filter((outcome): outcome is Failed => outcome.failure !== undefined),
  };
}

/**
 * The snapshot that the authority's timestamp names.
 *
 * @param others - where it is looked for if neither `out` nor the key server has it
 * @returns `undefined` before the first publication, or if it is nowhere
 */
export async function findCurrent(
  { authority, output, keyServer, roots }: Site,
  others: readonly PublicationPlace[] = [],
): Promise<SignedSnapshot | undefined> {
  const current = await authority.current();
  const places = [output, ...(keyServer ? [placeAtKeyServer(keyServer)] : []), ...others];
  return current && findSnapshot(current.timestamp.snapshot, places, roots);
}

/** What a target shows, or has above that. The authority takes note of it. */
export async function highestAt(target: Target, { roots, authority }: Site): Promise<SignedSnapshot | undefined> {
  const place = placeAtTarget(target);
  const bytes = await readBounded(target, TIMESTAMP_PATH, PUBLICATION_LIMITS.timestampLength);
  const shown = bytes && (await verifiedTimestamp(bytes, roots));
  let highest = shown && (await findSnapshot(shown.timestamp.snapshot, [place], roots));
  if (bytes && shown && highest && (await verifiedTimestamp(bytes, roots.slice(0, 1)))) await authority.learn(shown);
  if (highest === undefined) return undefined;
  for (let step = 0; step < MOST_UNFINISHED; step++) {
    const next = await readSnapshot(highest.file.version + 1, place, roots);
    if (next === undefined) return highest;
    highest = next;
  }
  return highest;
}
