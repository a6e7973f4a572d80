/** `wispr verify URL`: the same checks on what a web host answers. What lies there besides cannot be seen from outside. */
import { randomInt } from 'node:crypto';
import { documentPathOf } from '../../core/site/path.ts';
import { HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { PublishedDocument } from '../publication/roles.ts';
import { DocumentCheck } from './documents.ts';
import { checkPublication, type DocumentChoice } from './publication.ts';
import { ReportBuilder, type VerifyReport } from './report.ts';
import { readSite } from './site.ts';
import type { VerifyOptions } from './tree.ts';
import { WebPlace } from './web.ts';

export interface VerifyUrlOptions extends VerifyOptions {
  /** Only these documents, by their paths as they stand in URLs. */
  readonly paths?: readonly string[];
  /** Only so many documents, picked at random. */
  readonly sample?: number;
}

/**
 * Checks all documents of the publication that a host has, or some.
 *
 * @throws PublishError `tree-unreadable` if the host does not answer
 */
export async function verifyUrl(url: URL, options: VerifyUrlOptions = {}): Promise<VerifyReport> {
  const place = new WebPlace(url.origin);
  const report = new ReportBuilder();
  await place.read(HOST_PROOF_PATH, 0); // whether anybody answers
  const site = await readSite(place, { now: nowInSeconds(), ...options }, report);
  if (url.protocol === 'http:' && options.root === undefined)
    report.note('over http, the host proof does not prove that the host is the one that was meant');
  if (site === undefined) return report.report();
  const { onProgress, sample, paths = [] } = options;
  const named = paths.length > 0 ? new NamedDocuments(paths, url, report) : undefined;
  const choice = named ?? (sample === undefined ? undefined : new Sample(sample));
  const documents = new DocumentCheck(site, place, report);
  await checkPublication({
    site,
    place,
    report,
    documents,
    ...(choice && { choice }),
    ...(onProgress && { onProgress }),
  });
  if (choice) report.note(choice.note());
  return report.report();
}

/** The documents that were asked for. */
class NamedDocuments implements DocumentChoice {
  readonly #wanted = new Set<string>();
  readonly #found: PublishedDocument[] = [];
  readonly #report: ReportBuilder;

  constructor(paths: readonly string[], url: URL, report: ReportBuilder) {
    this.#report = report;
    for (const named of paths) {
      const path = URL.canParse(named, url.origin) ? documentPathOf(new URL(named, url.origin).pathname) : undefined;
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

/** Every document is as likely to be in it as every other (reservoir sampling). */
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
      const place = randomInt(this.#seen); // a host shall not know which ones it has to keep right
      if (place < this.#size) this.#kept[place] = document;
    }
  }

  chosen(): Iterable<PublishedDocument> {
    return this.#kept;
  }

  note(): string {
    return `${this.#kept.length.toLocaleString('en')} of ${this.#seen.toLocaleString('en')} documents were checked, and all metadata`;
  }
}
