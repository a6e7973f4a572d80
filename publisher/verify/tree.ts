/** `wispr verify DIR`: checks a published tree as a mirror without keys can: corrupted, missing, extra and stale files. */
import { resolve } from 'node:path';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { CodedError } from '../../core/errors.ts';
import { headDigest, readUnverifiedHead } from '../../core/object/head.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { OBJECT_SUFFIX } from '../../core/site/path.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { isUnfinishedName } from '../../node-support/storage/directory.ts';
import { isLeftoverName } from '../protect/writers/files.ts';
import { isImmutablePath, SITE_FILES } from '../publication/files.ts';
import { PathSet } from '../publish/inventory.ts';
import { DocumentCheck } from './documents.ts';
import { DirectoryPlace } from './files.ts';
import { sha256Of } from './object.ts';
import { Unreadable } from './place.ts';
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
  'the publisher made it, and the publication that is there does not name it: left by a "wispr publish" that did not end; publish again';

/** What nobody asked for. What earlier publications named is only counted: readers may still come for it. */
async function findExtras(
  place: DirectoryPlace,
  site: KnownSite,
  named: PathSet,
  report: ReportBuilder,
): Promise<void> {
  const unfinished = new Unfinished(place, site);
  for await (const { path, isFile } of place.entries()) {
    if (!isFile) report.find(path, 'file-unsigned', 'neither a file nor a directory: nothing signs it');
    else if (named.has(path) || EXPECTED.includes(path)) continue;
    else if (await isLeftover(place, site, path)) report.count('leftovers');
    else if (await unfinished.has(path)) report.find(path, 'file-unfinished', UNFINISHED);
    else report.find(path, 'file-unsigned', 'nothing signs this file');
  }
}

async function isLeftover(place: DirectoryPlace, site: KnownSite, path: string): Promise<boolean> {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (isUnfinishedName(name) || isLeftoverName(name)) return true;
  if (!isImmutablePath(path)) return false;
  if (path.startsWith(METADATA_PATH)) return isOlderMetadata(name, site);
  try {
    return (await hashOf(place, site, path, name)) === name.slice(0, 64);
  } catch (error) {
    if (error instanceof CodedError || error instanceof Unreadable) return false;
    throw error;
  }
}

function isOlderMetadata(name: string, { publication: { state } }: KnownSite): boolean {
  const newest = name.endsWith('.root.json') ? state.root.version : state.snapshot.version;
  return Number.parseInt(name, 10) <= newest;
}

/**
 * What a file's name has to begin with: the hash of its content, or of the head of its object, which has to name this site and this place.
 *
 * Whose signature the head has is not asked: an object of the publisher's earlier key is a leftover as well, and which keys those were, only
 * metadata could say that may be gone by now. Nothing is lost by it. The file is only counted, like contents, which have no signature at all;
 * no publication sends readers there, and none believes an object of another key.
 */
async function hashOf(place: DirectoryPlace, site: KnownSite, path: string, name: string): Promise<string | undefined> {
  const stream = await place.open(path);
  if (stream === undefined) return undefined;
  if (!name.endsWith(OBJECT_SUFFIX)) return sha256Of(stream);
  const documentPath = path.slice(0, -name.length) + name.slice(65, -OBJECT_SUFFIX.length);
  const input = new ByteReader(stream);
  try {
    const head = await readUnverifiedHead(input);
    const isHere = head.header.site === site.site && head.header.path === documentPath;
    return isHere ? toHex(await headDigest(head)) : undefined;
  } finally {
    await input.cancel();
  }
}
