/** Checks a document of a publication: its object, its content, and what browsers without a reader find at its own name. */
import { createHash } from 'node:crypto';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { verifyBlocks } from '../../core/object/blocks.ts';
import { isHtmlCarrier, openCarrier } from '../../core/object/carrier.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { type Head, headDigest } from '../../core/object/head.ts';
import { isEncrypted } from '../../core/object/header.ts';
import { type Expectation, readHead } from '../../core/object/read-head.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { contentTargetOf, headTargetOf, targetFile } from '../../core/publication/names.ts';
import { urlPathOf } from '../../core/site/path.ts';
import type { PublishedDocument } from '../publication/roles.ts';
import { startOf } from '../publication/sources.ts';
import { leadsTo, recogniseFallbackPage } from '../site/fallback/recognise.ts';
import { MAXIMUM_FALLBACK_PAGE } from '../site/fallback/template.ts';
import { isPage, mediaTypeOf } from '../site/media-type.ts';
import type { FindingCode, VerifyReport } from './report.ts';
import type { KnownSite } from './site.ts';
import { Unreadable, type VerifiedSource } from './sources.ts';

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
  readonly #source: VerifiedSource;
  readonly #report: VerifyReport;

  constructor(site: KnownSite, source: VerifiedSource, report: VerifyReport) {
    this.#site = site;
    this.#source = source;
    this.#report = report;
  }

  /** Checks one document, and reports the first thing that is wrong with it and with what stands at its name. */
  async check(document: PublishedDocument): Promise<void> {
    const { content, inPage } = document.entry;
    const { path } = document;
    const head = await this.#attempt(() => this.#checkObject(document));
    if (head) this.#report[content === undefined ? 'encrypted' : 'signed']++;
    await this.#attempt(async () => {
      // A good head is needed to know how long a file at the name of one of these two may be.
      if (content !== undefined) await (head && this.#checkCopy(path, content, head));
      else if (inPage) await (head && this.#checkFallback(path, head));
      else if (isPage(mediaTypeOf(path))) await this.#checkFallback(path);
    });
  }

  async #checkObject({ path, entry }: PublishedDocument): Promise<Head> {
    const file = entry.inPage ? path : targetFile(headTargetOf(path), entry.head);
    const { site, publisherKey } = this.#site;
    const object = openCarrier(await this.#open(file));
    const head = await this.#named(file, () => verifyObject(object, { site, path, publisherKey }, entry));
    if (entry.content === undefined) return head;
    const contentFile = targetFile(contentTargetOf(path), entry.content);
    const content = await this.#open(contentFile);
    const hash = await this.#named(contentFile, () => verifyContent(head, content));
    if (hash !== entry.content)
      throw new Wrong(contentFile, 'file-altered', 'not the content that the publication names');
    return head;
  }

  async #checkCopy(path: string, content: string, { header }: Head): Promise<void> {
    const stream = await this.#open(path);
    if ((await this.#named(path, () => sha256Of(upTo(stream, header.payloadLength)))) !== content)
      throw new Wrong(path, 'file-altered', 'not what the publisher signed');
  }

  /** @param carried - the head of the object above it, if there is one */
  async #checkFallback(path: string, carried?: Head): Promise<void> {
    const stream = await this.#open(path);
    const bytes = await this.#named(path, () => fallbackPart(stream, carried));
    const page = recogniseFallbackPage(bytes);
    if (page === undefined) throw new Wrong(path, 'file-altered', 'not a fallback page as wispr makes them');
    if (!leadsTo(page, this.#site, urlPathOf(path))) {
      const inReader = page.site === undefined ? '' : `, and in a Reader to ${page.site}`;
      const { title, lead, button, links = [] } = page.bar ?? {};
      const also = [button, ...links].flatMap((link) => link?.url ?? []).map((url) => `, and to ${url}`);
      const offer = title === undefined ? '' : `; it offers: ${title}, ${lead}`;
      const message = `the fallback page leads to ${page.reading}${inReader}${also.join('')}${offer}`;
      throw new Wrong(path, 'file-altered', message);
    }
    this.#report.fallbackPages++;
    if (page.ownTemplate) this.#report.ownFallbackPages++;
  }

  async #open(path: string): Promise<AsyncIterable<Uint8Array>> {
    const stream = await this.#named(path, () => this.#source.open(path));
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

  async #attempt<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      this.#report.find(error.path, error.code, error.message);
      return undefined;
    }
  }
}

const COMMENT_END = Buffer.from('\n-->\n');

/** Reads a fallback page: the whole file, or what stands behind the comment of an HTML carrier. One byte more than any has is enough. */
async function fallbackPart(stream: AsyncIterable<Uint8Array>, carried: Head | undefined): Promise<Uint8Array> {
  if (carried === undefined) {
    const bytes = await startOf(stream, MAXIMUM_FALLBACK_PAGE + 1);
    return isHtmlCarrier(bytes) ? new Uint8Array(0) : bytes;
  }
  let bytes: Buffer = Buffer.alloc(0);
  let inComment = true;
  const longestComment = 2 * (carried.length + carried.header.payloadLength) + 100; // base64 in lines takes 1.36 times the object
  for await (const piece of upTo(stream, longestComment + MAXIMUM_FALLBACK_PAGE)) {
    bytes = Buffer.concat([bytes, piece]);
    const end: number = inComment ? bytes.indexOf(COMMENT_END) : -1;
    if (end >= 0) [bytes, inComment] = [bytes.subarray(end + COMMENT_END.length), false];
    else if (inComment) bytes = bytes.subarray(-COMMENT_END.length);
    if (!inComment && bytes.length > MAXIMUM_FALLBACK_PAGE) break;
  }
  return inComment ? new Uint8Array(0) : bytes.subarray(0, MAXIMUM_FALLBACK_PAGE + 1);
}

/**
 * Verifies an object. A signed document's content is not in it: see {@link verifyContent}.
 *
 * @param object - the object, out of its carrier
 * @throws ObjectError naming the first check that failed
 */
async function verifyObject(
  object: AsyncIterable<Uint8Array>,
  expected: Expectation,
  entry: DocumentEntry,
): Promise<Head> {
  const input = new ByteReader(object);
  try {
    const head = await readHead(input, expected);
    await checkHead(head, entry);
    if (isEncrypted(head.header)) await verifyBlocks(head, input);
    else if (!(await input.atEnd()))
      throw new ObjectError('object-trailing', 'bytes follow the head of a signed document');
    return head;
  } finally {
    await input.cancel(); // frees the file or the connection
  }
}

/** Checks P10, and that the publication says the same of the document as its head does. */
async function checkHead(head: Head, { head: hash, headLength, set }: DocumentEntry): Promise<void> {
  const sameSet = isEncrypted(head.header) ? head.header.set === set : set === undefined;
  if (head.length === headLength && sameSet && toHex(await headDigest(head)) === hash) return;
  throw new ObjectError('head-unexpected', 'this is not the head that the publication names');
}

/**
 * Verifies a signed document's content against its head.
 *
 * @returns its SHA-256, hexadecimal
 * @throws ObjectError
 */
async function verifyContent(head: Head, content: AsyncIterable<Uint8Array>): Promise<string> {
  const digest = createHash('sha256');
  const input = new ByteReader(hashed(content, digest));
  try {
    await verifyBlocks(head, input);
  } finally {
    await input.cancel();
  }
  return digest.digest('hex');
}

async function* hashed(
  stream: AsyncIterable<Uint8Array>,
  digest: ReturnType<typeof createHash>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of stream) {
    digest.update(piece);
    yield piece;
  }
}

/** Yields a stream, and ends once it has been longer than `length`: a host may send without end. */
async function* upTo(stream: AsyncIterable<Uint8Array>, length: number): AsyncGenerator<Uint8Array> {
  let received = 0;
  for await (const piece of stream) {
    received += piece.length;
    yield piece;
    if (received > length) return;
  }
}

/** Returns the SHA-256 of a stream, hexadecimal. */
export async function sha256Of(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const digest = createHash('sha256');
  for await (const piece of stream) digest.update(piece);
  return digest.digest('hex');
}
