/** `wispr verify DIR`: checks a published tree as a mirror without keys can: corrupted, missing, extra and stale files. */
import { resolve } from 'node:path';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { SITE_FILES } from '../publication/files.ts';
import { PathSet } from '../publish/inventory.ts';
import { DocumentCheck } from './documents.ts';
import { DirectoryPlace } from './files.ts';
import { Leftovers } from './leftovers.ts';
import { checkPublication } from './publication.ts';
import { ReportBuilder, type VerifyReport } from './report.ts';
import { type KnownSite, readSite, type SiteOptions } from './site.ts';
import { Unfinished } from './unfinished.ts';

export interface VerifyOptions extends Partial<SiteOptions> {
  readonly onProgress?: (progress: { readonly done: number; readonly total: number | undefined }) => void;
}

/**
 * Checks host proof, metadata, descriptor, every document and every other file of a tree.
 *
 * @throws PublishError `tree-unreadable`; what is wrong in the tree is not thrown, but stands in the report
 */
export async function verifyTree(directory: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  const place = new DirectoryPlace(resolve(directory));
  const report = new ReportBuilder();
  await place.check();
  const site = await readSite(place, { now: nowInSeconds(), ...options }, report);
  if (site === undefined) return report.report();
  const named = new PathSet();
  const { onProgress } = options;
  const documents = new DocumentCheck(site, place, report);
  await checkPublication({ site, place, report, documents, named, ...(onProgress && { onProgress }) });
  await findExtras(place, site, named, report);
  return report.report();
}

const EXPECTED: readonly string[] = [...SITE_FILES, METADATA_PATH + TIMESTAMP_FILE];

const UNFINISHED =
  'the publication that is there does not name it, and a "wispr publish" that did not end leaves such files: publish again';

/** What nobody asked for. What earlier publications named is only counted: readers may still come for it. */
async function findExtras(
  place: DirectoryPlace,
  site: KnownSite,
  named: PathSet,
  report: ReportBuilder,
): Promise<void> {
  const leftovers = new Leftovers(place, site);
  const unfinished = new Unfinished(place, site);
  for await (const { path, isFile } of place.entries()) {
    if (!isFile) report.find(path, 'file-unsigned', 'neither a file nor a directory: nothing signs it');
    else if (named.has(path) || EXPECTED.includes(path)) continue;
    else if (await leftovers.has(path)) report.count('leftovers');
    else if (await unfinished.has(path)) report.find(path, 'file-unfinished', UNFINISHED);
    else report.find(path, 'file-unsigned', 'nothing signs this file');
  }
}
