/** `wispr verify DIR`: checks a published tree as a mirror without keys can, and names everything that nothing signs. */
import { resolve } from 'node:path';
import { DESCRIPTOR_PATH, HOST_PROOF_PATH } from '../../core/keys/descriptor.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { isHtmlCarrier, openCarrier } from '../../core/object/carrier.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { isDocumentPath, OBJECT_SUFFIX, urlPathOf } from '../../core/site/path.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { MAXIMUM_FALLBACK_PAGE } from '../fallback-template.ts';
import { forEachInFlight } from '../in-flight.ts';
import { leadsTo, recogniseFallbackPage } from './fallback-check.ts';
import { fileBytes, fileStart, listTree, type TreeFile } from './files.ts';
import { verifyObject } from './object.ts';
import { checkProvider, type KnownSite, type ProviderOptions } from './provider.ts';
import { ReportBuilder, type VerifyReport } from './report.ts';

export interface VerifyTreeOptions extends Partial<ProviderOptions> {
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void;
}

const IN_FLIGHT = 4;

/**
 * Checks host proof, descriptor, every object and every public file of a tree, and recognises fallback pages.
 *
 * @throws PublishError `tree-unreadable`; what is wrong in the tree is not thrown, but stands in the report
 */
export async function verifyTree(directory: string, options: VerifyTreeOptions = {}): Promise<VerifyReport> {
  const { files, others } = await listTree(resolve(directory));
  const report = new ReportBuilder();
  for (const path of others) report.find(path, 'file-unsigned', 'neither a file nor a directory: nothing signs it');
  const byPath = new Map(files.map((file) => [file.path, file]));
  const site = await readProvider(byPath, { now: nowInSeconds(), ...options }, report);
  report.note(
    'that nothing is missing, and that nothing is older than the rest, cannot be told yet: there is no signed list of documents',
  );
  if (site === undefined) return report.report();
  const check = new TreeCheck(site, byPath, report);
  await check.run(files, options.onProgress);
  return report.report();
}

async function readProvider(
  files: ReadonlyMap<string, TreeFile>,
  options: ProviderOptions,
  report: ReportBuilder,
): Promise<KnownSite | undefined> {
  const start = async (path: string, length: number) => {
    const file = files.get(path);
    return file && fileStart(file.file, length).catch(() => undefined);
  };
  const proof = await start(HOST_PROOF_PATH, MESSAGE_LIMITS.hostProof);
  // One byte more than any has, so that a longer one does not pass for its beginning.
  const descriptor = await start(DESCRIPTOR_PATH, MESSAGE_LIMITS.descriptor + 1);
  return checkProvider(descriptor, proof && new TextDecoder().decode(proof), options, report);
}

class TreeCheck {
  readonly #site: KnownSite;
  readonly #files: ReadonlyMap<string, TreeFile>;
  readonly #report: ReportBuilder;
  /** Files that an object speaks for as its content, good or not. */
  readonly #contents = new Set<string>();

  constructor(site: KnownSite, files: ReadonlyMap<string, TreeFile>, report: ReportBuilder) {
    this.#site = site;
    this.#files = files;
    this.#report = report;
  }

  /** Objects first: they say what the other files are. */
  async run(files: readonly TreeFile[], onProgress: VerifyTreeOptions['onProgress']): Promise<void> {
    const objects = files.filter(({ path }) => path.endsWith(OBJECT_SUFFIX));
    const others = files.filter(({ path }) => !path.endsWith(OBJECT_SUFFIX));
    let done = 0;
    const each = (check: (file: TreeFile) => Promise<void>) => async (file: TreeFile) => {
      await check(file).catch((error: unknown) => this.#findUnreadable(file, error));
      onProgress?.({ done: ++done, total: files.length });
    };
    await forEachInFlight(
      objects,
      IN_FLIGHT,
      each((file) => this.#checkBeside(file)),
    );
    await forEachInFlight(
      others,
      IN_FLIGHT,
      each((file) => this.#checkOther(file)),
    );
  }

  async #checkBeside({ path, file }: TreeFile): Promise<void> {
    const documentPath = path.slice(0, -OBJECT_SUFFIX.length);
    if (!isDocumentPath(documentPath)) {
      this.#report.find(path, 'path-refused', 'no document can stand at this path');
      return;
    }
    await this.#checkObject(path, documentPath, fileBytes(file));
  }

  /** @param path - of the file that the object is in */
  async #checkObject(path: string, documentPath: string, object: AsyncIterable<Uint8Array>): Promise<void> {
    let at = path;
    const content = async () => {
      at = documentPath;
      this.#contents.add(documentPath);
      const file = this.#files.get(documentPath);
      if (file === undefined) throw new MissingContent();
      return fileBytes(file.file);
    };
    const { site, publisherKey } = this.#site;
    try {
      this.#report.count(await verifyObject(object, { site, path: documentPath, publisherKey }, content));
    } catch (error) {
      if (error instanceof MissingContent)
        this.#report.find(at, 'file-missing', 'the content of this signed document is not there');
      else if (error instanceof ObjectError) this.#report.find(at, error.code, error.message);
      else throw error;
    }
  }

  async #checkOther(file: TreeFile): Promise<void> {
    const { path } = file;
    if (path === HOST_PROOF_PATH || path === DESCRIPTOR_PATH || this.#contents.has(path)) return;
    if (isHtmlCarrier(await fileStart(file.file, 16))) return this.#checkHtmlCarrier(file);
    const page = await readFallbackPart(file.file);
    this.#checkFallback(path, page, this.#files.has(path + OBJECT_SUFFIX));
  }

  async #checkHtmlCarrier({ path, file }: TreeFile): Promise<void> {
    if (!isDocumentPath(path)) this.#report.find(path, 'path-refused', 'no document can stand at this path');
    else await this.#checkObject(path, path, openCarrier(fileBytes(file)));
    this.#checkFallback(path, await readFallbackPart(file), true);
  }

  #checkFallback(path: string, bytes: Uint8Array, hasObject: boolean): void {
    const page = recogniseFallbackPage(bytes);
    if (page === undefined) {
      const altered = hasObject ? 'fallback-altered' : 'file-unsigned';
      const what = hasObject ? 'not signed, and not a fallback page as wispr makes them' : 'nothing signs this file';
      this.#report.find(path, altered, what);
    } else if (!leadsTo(page, this.#site.reading, urlPathOf(path))) {
      this.#report.find(path, 'fallback-altered', `the fallback page leads to ${page.reading}`);
    } else if (!hasObject) {
      this.#report.find(path, 'file-missing', 'this is a fallback page, but its protected object is not there');
    } else {
      this.#report.fallbackPage(path, page);
    }
  }

  #findUnreadable({ path }: TreeFile, error: unknown): void {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    this.#report.find(path, 'unreadable', `cannot be read: ${systemReason(error)}`);
  }
}

/** The content of a signed document is not in the tree. */
class MissingContent extends Error {}

const COMMENT_END = Buffer.from('\n-->\n');

/** A fallback page: the whole file, or what stands behind the comment of an HTML carrier. One byte more than any has is enough. */
async function readFallbackPart(file: string): Promise<Uint8Array> {
  let bytes = Buffer.alloc(0);
  let inComment = isHtmlCarrier(await fileStart(file, 16));
  for await (const piece of fileBytes(file)) {
    bytes = Buffer.concat([bytes, piece]);
    const end = inComment ? bytes.indexOf(COMMENT_END) : -1;
    if (end >= 0) [bytes, inComment] = [bytes.subarray(end + COMMENT_END.length), false];
    else if (inComment) bytes = bytes.subarray(-COMMENT_END.length);
    if (!inComment && bytes.length > MAXIMUM_FALLBACK_PAGE) break;
  }
  return inComment ? new Uint8Array(0) : bytes.subarray(0, MAXIMUM_FALLBACK_PAGE + 1);
}
