/** Checks a document of a publication: its object, its content, and what browsers without a reader find at its own name. */
import { isHtmlCarrier, openCarrier } from '../../core/object/carrier.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { contentTargetOf, headTargetOf, targetFile } from '../../core/publication/names.ts';
import { urlPathOf } from '../../core/site/path.ts';
import { leadsTo, recogniseFallbackPage } from '../fallback-check.ts';
import { MAXIMUM_FALLBACK_PAGE } from '../fallback-template.ts';
import type { PublishedDocument } from '../publication/roles.ts';
import { isPage, mediaTypeOf } from '../site/media-type.ts';
import { sha256Of, verifyContent, verifyObject } from './object.ts';
import { startOf, Unreadable, type VerifiedPlace } from './place.ts';
import type { FindingCode, ReportBuilder } from './report.ts';
import type { KnownSite } from './site.ts';

/** A check that failed at one file. */
class Wrong extends Error {
  readonly path: string;
  readonly code: FindingCode;

  constructor(path: string, code: FindingCode, message: string) {
    super(message);
    this.path = path;
    this.code = code;
  }
}

export class DocumentCheck {
  readonly #site: KnownSite;
  readonly #place: VerifiedPlace;
  readonly #report: ReportBuilder;

  constructor(site: KnownSite, place: VerifiedPlace, report: ReportBuilder) {
    this.#site = site;
    this.#place = place;
    this.#report = report;
  }

  /** Checks one document, and reports the first thing that is wrong with it and with what stands at its name. */
  async check(document: PublishedDocument): Promise<void> {
    const { content, inPage } = document.entry;
    const isGood = await this.#attempt(() => this.#checkObject(document));
    if (isGood) this.#report.count(content === undefined ? 'encrypted' : 'signed');
    await this.#attempt(async () => {
      if (content !== undefined) await this.#checkCopy(document.path, content);
      else if (inPage || isPage(mediaTypeOf(document.path))) await this.#checkFallback(document.path, inPage);
    });
  }

  async #checkObject({ path, entry }: PublishedDocument): Promise<void> {
    const file = entry.inPage ? path : targetFile(headTargetOf(path), entry.head);
    const { site, publisherKey } = this.#site;
    const object = openCarrier(await this.#open(file));
    const head = await this.#named(file, () => verifyObject(object, { site, path, publisherKey }, entry));
    if (entry.content === undefined) return;
    const contentFile = targetFile(contentTargetOf(path), entry.content);
    const content = await this.#open(contentFile);
    const hash = await this.#named(contentFile, () => verifyContent(head, content));
    if (hash !== entry.content)
      throw new Wrong(contentFile, 'file-altered', 'not the content that the publication names');
  }

  async #checkCopy(path: string, content: string): Promise<void> {
    const stream = await this.#open(path);
    if ((await this.#named(path, () => sha256Of(stream))) !== content)
      throw new Wrong(path, 'copy-altered', 'not what the publisher signed');
  }

  async #checkFallback(path: string, inPage: boolean): Promise<void> {
    const stream = await this.#open(path);
    const bytes = await this.#named(path, () => fallbackPart(stream, inPage));
    const page = recogniseFallbackPage(bytes);
    if (page === undefined) throw new Wrong(path, 'fallback-altered', 'not a fallback page as wispr makes them');
    if (!leadsTo(page, this.#site, urlPathOf(path))) {
      const inReader = page.site === undefined ? '' : `, and in a Reader to ${page.site}`;
      throw new Wrong(path, 'fallback-altered', `the fallback page leads to ${page.reading}${inReader}`);
    }
    this.#report.fallbackPage(page);
  }

  async #open(path: string): Promise<AsyncIterable<Uint8Array>> {
    const stream = await this.#named(path, () => this.#place.open(path));
    if (stream === undefined) throw new Wrong(path, 'file-missing', 'this file is not there');
    return stream;
  }

  /** Does `work`; what fails is wrong with the file at `path`. */
  async #named<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ObjectError || error instanceof PublicationError)
        throw new Wrong(path, error.code, error.message);
      if (error instanceof Unreadable) throw new Wrong(path, 'unreadable', error.message);
      throw error;
    }
  }

  async #attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      this.#report.find(error.path, error.code, error.message);
      return false;
    }
  }
}

const COMMENT_END = Buffer.from('\n-->\n');

/** A fallback page: the whole file, or what stands behind the comment of an HTML carrier. One byte more than any has is enough. */
export async function fallbackPart(stream: AsyncIterable<Uint8Array>, inPage: boolean): Promise<Uint8Array> {
  if (!inPage) {
    const bytes = await startOf(stream, MAXIMUM_FALLBACK_PAGE + 1);
    return isHtmlCarrier(bytes) ? new Uint8Array(0) : bytes;
  }
  let bytes: Buffer = Buffer.alloc(0);
  let inComment = true;
  for await (const piece of stream) {
    bytes = Buffer.concat([bytes, piece]);
    const end: number = inComment ? bytes.indexOf(COMMENT_END) : -1;
    if (end >= 0) [bytes, inComment] = [bytes.subarray(end + COMMENT_END.length), false];
    else if (inComment) bytes = bytes.subarray(-COMMENT_END.length);
    if (!inComment && bytes.length > MAXIMUM_FALLBACK_PAGE) break;
  }
  return inComment ? new Uint8Array(0) : bytes.subarray(0, MAXIMUM_FALLBACK_PAGE + 1);
}
