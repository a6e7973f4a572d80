/**
 * `wispr verify`: checks a published site as a mirror without keys can: corrupted, missing, extra and stale files of a directory or a bucket; of
 * a web host the same, but for extra files, which cannot be seen from outside.
 */
import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { documentPathOf } from '../../core/site/path.ts';
import { HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { openBucket } from '../../node-support/storage/open.ts';
import { SITE_FILES, TIMESTAMP_PATH } from '../publication/files.ts';
import type { PublishedDocument } from '../publication/roles.ts';
import { PathSet } from '../publish/inventory.ts';
import { isKeyFilePath } from '../serverless/key-files.ts';
import { READING_SITE_FILES } from '../serverless/reading-site.ts';
import { Leftovers } from './leftovers.ts';
import { checkNewest, checkReadingSite } from './other-places.ts';
import { checkPublication, type DocumentChoice, type PublicationCheckOptions } from './publication.ts';
import { VerifyReport } from './report.ts';
import { checkKeyFile, checkServerlessSite } from './serverless.ts';
import { type KnownSite, readSite, type SiteOptions } from './site.ts';
import { BucketSource, DirectorySource, type ListedSource, WebSource } from './sources.ts';

export interface VerifyOptions extends Partial<SiteOptions> {
  readonly onProgress?: PublicationCheckOptions['onProgress'];
}

/**
 * Checks host proof, metadata, descriptor, every document and every other file of a tree.
 *
 * @throws PublishError `unreadable`; what is wrong in the tree is not thrown, but stands in the report
 */
export async function verifyTree(directory: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  return verifyListed(new DirectorySource(resolve(directory)), options);
}

/**
 * Checks everything in a bucket as {@link verifyTree} does in a directory.
 *
 * @param name - `s3://bucket/prefix`; credentials come from the environment or `~/.aws`
 * @throws StorageError `argument-invalid`, `target-unreachable`, `target-failed`; PublishError `unreadable`
 */
export async function verifyBucket(name: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  const bucket = await openBucket(name);
  try {
    return await verifyListed(new BucketSource(bucket), options);
  } finally {
    bucket.close();
  }
}

async function verifyListed(source: ListedSource, options: VerifyOptions): Promise<VerifyReport> {
  const report = new VerifyReport();
  await source.check();
  const site = await readSite(source, { now: nowInSeconds(), ...options }, report);
  if (site === undefined) return report.finish();
  const named = new PathSet();
  await checkPublication(site, source, report, { named, onProgress: options.onProgress });
  if (site.serverless) await checkServerlessSite(site, source, report);
  await findExtras(source, site, named, report);
  return report.finish();
}

const EXPECTED: readonly string[] = [...SITE_FILES, TIMESTAMP_PATH];

/** Reports files that do not belong to the publication. Files of earlier publications are only counted: readers may still come for them. */
async function findExtras(source: ListedSource, site: KnownSite, named: PathSet, report: VerifyReport): Promise<void> {
  const leftovers = new Leftovers(source, site);
  for await (const { path, isFile } of source.entries()) {
    if (!isFile) report.find(path, 'file-unsigned', 'neither a file nor a directory: nothing signs it');
    else if (named.has(path) || EXPECTED.includes(path)) continue;
    else if (site.serverless && READING_SITE_FILES.includes(path)) continue;
    else if (site.serverless && isKeyFilePath(path)) await checkKeyFile(path, source, report);
    else if (await leftovers.has(path)) report.leftovers++;
    else report.find(path, 'file-unsigned', 'nothing signs this file');
  }
}

export interface VerifyUrlOptions extends VerifyOptions {
  /** Paths of the only documents to check, as they stand in URLs. */
  readonly paths?: readonly string[];
  /** Number of documents to check, picked at random. */
  readonly sample?: number;
}

/**
 * Checks all documents of the publication that a host has, or some.
 *
 * @param url - under which the site lies; with a slash at its end
 * @throws PublishError `unreadable` if the host does not answer
 */
export async function verifyUrl(url: URL, options: VerifyUrlOptions = {}): Promise<VerifyReport> {
  const base = url.origin + url.pathname.replace(/\/$/, '');
  const source = new WebSource(base);
  const report = new VerifyReport();
  await source.read(HOST_PROOF_PATH, 0); // fails if the host is silent
  const site = await readSite(source, { now: nowInSeconds(), ...options }, report);
  if (url.protocol === 'http:' && options.root === undefined)
    report.notes.push('over http, the host proof does not prove that the host is the one that was meant');
  if (site === undefined) return report.finish();
  const { onProgress, sample, paths = [] } = options;
  const named = paths.length > 0 ? new NamedDocuments(paths, base, report) : undefined;
  const choice = named ?? (sample === undefined ? undefined : new Sample(sample));
  await checkPublication(site, source, report, { choice, onProgress });
  await checkNewest(site, url.origin, report);
  await (site.serverless ? checkServerlessSite(site, source, report) : checkReadingSite(site, report));
  if (choice) report.notes.push(choice.note());
  return report.finish();
}

class NamedDocuments implements DocumentChoice {
  readonly #wanted = new Set<string>();
  readonly #found: PublishedDocument[] = [];
  readonly #report: VerifyReport;

  /** @param base - of the site's URLs, without a slash at its end: documents can be named by them as well */
  constructor(paths: readonly string[], base: string, report: VerifyReport) {
    this.#report = report;
    for (const named of paths) {
      const within = named.startsWith(`${base}/`) ? named.slice(base.length) : named;
      const path = URL.canParse(within, base)
        ? documentPathOf(new URL(within, new URL(base).origin).pathname)
        : undefined;
      if (path === undefined) report.find(named, 'path-refused', 'no document can stand at this path');
      else this.#wanted.add(path);
    }
  }

  consider(document: PublishedDocument): void {
    if (this.#wanted.delete(document.path)) this.#found.push(document);
  }

  chosen(): Iterable<PublishedDocument> {
    for (const path of this.#wanted) this.#report.find(path, 'file-missing', 'the publication has no such document');
    return this.#found;
  }

  note(): string {
    return 'only the documents that were named were checked, and all metadata';
  }
}

/** A sample in which every document is as likely as every other (reservoir sampling). */
class Sample implements DocumentChoice {
  readonly #size: number;
  readonly #kept: PublishedDocument[] = [];
  #seen = 0;

  constructor(size: number) {
    this.#size = size;
  }

  consider(document: PublishedDocument): void {
    this.#seen++;
    if (this.#kept.length < this.#size) this.#kept.push(document);
    else {
      const source = randomInt(this.#seen); // a host must not know which documents are checked
      if (source < this.#size) this.#kept[source] = document;
    }
  }

  chosen(): Iterable<PublishedDocument> {
    return this.#kept;
  }

  note(): string {
    return `${this.#kept.length.toLocaleString('en')} of ${this.#seen.toLocaleString('en')} documents were checked, and all metadata`;
  }
}
