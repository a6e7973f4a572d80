/** Several people, each with a copy of the workspace: nobody undoes in silence what another has published. */
import { utcMinute } from '../../node-support/clock.ts';
import { fetchPublishing } from '../authority/key-server.ts';
import { PublishError } from '../errors.ts';
import { locate } from '../protect/location.ts';
import { behind, isMadeElsewhere } from '../protect/published.ts';
import { contentsOf, delegatedRoles } from '../publication/roles.ts';
import { openSnapshot, readSnapshot, type SignedSnapshot } from '../publication/signed.ts';
import { sourceAtTarget } from '../publication/sources.ts';
import { count, someOf } from '../text.ts';
import type { Site } from './site.ts';

/**
 * Refuses where the highest publication was made in another copy of the workspace with later keys; or with these, and has documents that the site
 * here lacks.
 *
 * @param without - goes on without these documents
 * @throws PublishError `workspace-behind`, `documents-missing`
 */
export async function checkMadeHere(
  site: Site,
  highest: SignedSnapshot | undefined,
  { without = false }: { readonly without?: boolean | undefined } = {},
): Promise<void> {
  if (highest === undefined) return;
  const isBehind = await isMadeElsewhere(site, site.store.contents.publication, highest);
  if (!isBehind && (without || highest.snapshot.closed || (await isOwn(site, highest)))) return;
  const lost = await missingHere(site, highest).catch(() => []); // a target may lack lists
  const what = `${count(lost.length, 'document')} of it ${lost.length === 1 ? 'is' : 'are'} not in the site here: ${someOf(lost)}`;
  const who = await byWhom(site, highest);
  const { version } = highest.file;
  if (isBehind) throw behind(version, `${who}${lost.length === 0 ? '' : `; ${what}`}`);
  if (lost.length === 0) return;
  const message = `publication ${version} was made elsewhere${who}, and ${what}`;
  throw new PublishError('documents-missing', message, { fields: { version, documents: lost.length } });
}

/** Tells whether this copy has made a publication, as far as it remembers. */
async function isOwn({ index, output, roots }: Site, { file }: SignedSnapshot): Promise<boolean> {
  if (index.roles().get('snapshot')?.sha256 === file.sha256) return true;
  return (await readSnapshot(file.version, output, roots))?.file.sha256 === file.sha256;
}

/** Names the person who published it, the place and the time, where the key server knows. */
async function byWhom({ keyServer }: Site, { file }: SignedSnapshot): Promise<string> {
  const state = keyServer && (await fetchPublishing(keyServer).catch(() => undefined));
  if (state?.last?.publication !== file.version) return '';
  const { by, from, time } = state.last;
  return `, by ${by} from ${from} at ${utcMinute(time)}`;
}

/** Paths of documents, sorted. */
async function missingHere({ targets, output, roots, configurationFile }: Site, highest: SignedSnapshot) {
  const [source = output] = targets.map(sourceAtTarget);
  const paths = new Set<string>();
  for await (const role of delegatedRoles(await openSnapshot(highest, source, roots)))
    for (const { path } of (await contentsOf(role)).documents) paths.add(path);
  for (const { path } of (await locate({ configurationFile })).walk.files()) paths.delete(path);
  return [...paths].sort();
}
