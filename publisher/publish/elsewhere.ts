/** People who each have a copy of the workspace: nobody undoes in silence what another has published. */
import { utcMinute } from '../../node-support/clock.ts';
import { fetchPublishing } from '../authority/key-server.ts';
import { PublishError } from '../errors.ts';
import { locate } from '../protect/location.ts';
import { areKeysBehind, behind } from '../protect/published.ts';
import { release } from '../publication/held.ts';
import { contentsOf, delegatedRoles } from '../publication/roles.ts';
import { openSnapshot, type SignedSnapshot } from '../publication/signed.ts';
import { type PublicationSource, sourceAtTarget } from '../publication/sources.ts';
import { count, someOf } from '../text.ts';
import type { Site } from './site.ts';

/** Runs that may be broken off, one after the other. */
const MOST_CLAIMED = 64;

/** Word of a person about the last publication. */
export interface Said {
  /** The site here has what another copy published. */
  readonly merged?: boolean | undefined;
  /** The later keys are lost. */
  readonly restored?: boolean | undefined;
}

/**
 * Refuses where the highest publication was made in another copy of the workspace: with later keys; or with these, so that its changes may be missing
 * here. A workspace that was put back from a copy, and has published nothing since, is asked for documents that it lacks.
 *
 * @throws PublishError `workspace-behind`, `not-merged`
 */
export async function checkMadeHere(
  site: Site,
  highest: SignedSnapshot | undefined,
  { merged = false, restored = false }: Said = {},
): Promise<void> {
  const ours = site.index.fact('ours');
  if (highest === undefined || ours?.includes(highest.file.sha256)) return;
  const { file, snapshot } = highest;
  const isBehind = areKeysBehind(site.index, site.store.contents.publication, highest);
  if (isBehind ? restored : merged) return;
  const lacking = snapshot.closed ? [] : await missingHere(site, highest);
  if (!isBehind && ours === undefined && !snapshot.closed && lacking?.length === 0) return;
  const what = snapshot.closed ? '; it withdraws the site' : describeLacking(lacking);
  const details = `${await byWhom(site, highest)}${what}`;
  if (isBehind) throw behind(file.version, details);
  const message = `publication ${file.version} was made in another copy of this workspace${details}`;
  throw new PublishError('not-merged', message, { fields: { version: file.version } });
}

/** Notes a publication before anybody can see it; until it is confirmed, a target may still have an earlier one. */
export function claim({ index }: Site, { file }: SignedSnapshot): void {
  const before = index.fact('ours')?.split(' ') ?? [];
  index.setFact('ours', [...before, file.sha256].slice(-MOST_CLAIMED).join(' '));
}

export function confirmed({ index }: Site, { file }: SignedSnapshot): void {
  index.setFact('ours', file.sha256);
  release(index, file.version);
}

function describeLacking(paths: readonly string[] | undefined): string {
  if (paths === undefined) return '; its lists of documents cannot be read';
  if (paths.length === 0) return '';
  return `; ${count(paths.length, 'document')} of it ${paths.length === 1 ? 'is' : 'are'} not in the site here: ${someOf(paths)}`;
}

/** Names the person who published it, the place and the time, where the key server knows. */
async function byWhom({ keyServer }: Site, { file }: SignedSnapshot): Promise<string> {
  const state = keyServer && (await fetchPublishing(keyServer).catch(() => undefined));
  if (state?.last?.publication !== file.version) return '';
  const { by, from, time } = state.last;
  return `, by ${by} from ${from} at ${utcMinute(time)}`;
}

/** Lists documents of a publication that the site here lacks, sorted; `undefined` where no place has its lists. */
async function missingHere(site: Site, highest: SignedSnapshot): Promise<string[] | undefined> {
  for (const source of [...site.targets.map(sourceAtTarget), site.output]) {
    const paths = await pathsAt(source, site, highest).catch(() => undefined);
    if (paths === undefined) continue;
    for (const { path } of (await locate({ configurationFile: site.configurationFile })).walk.files())
      paths.delete(path);
    return [...paths].sort();
  }
  return undefined;
}

async function pathsAt(
  source: PublicationSource,
  { roots }: Site,
  highest: SignedSnapshot,
): Promise<Set<string> | undefined> {
  const paths = new Set<string>();
  for await (const delegated of delegatedRoles(await openSnapshot(highest, source, roots))) {
    if (delegated.role === undefined) return undefined;
    for (const { path } of (await contentsOf(delegated)).documents) paths.add(path);
  }
  return paths;
}
