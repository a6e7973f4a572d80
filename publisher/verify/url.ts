/** `wispr verify URL [PATH…]`: the checks of `verifyTree` on what a content host answers, for the documents that are named. */
import { request } from 'undici';
import { CodedError } from '../../core/errors.ts';
import { DESCRIPTOR_PATH, HOST_PROOF_PATH } from '../../core/keys/descriptor.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { isHtmlCarrier, openCarrier } from '../../core/object/carrier.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { documentPathOf, objectUrlPathOf, urlPathOf } from '../../core/site/path.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { MAXIMUM_FALLBACK_PAGE } from '../fallback-template.ts';
import { isPage, mediaTypeOf } from '../site/media-type.ts';
import { printable } from '../text.ts';
import { leadsTo, recogniseFallbackPage } from './fallback-check.ts';
import { verifyObject } from './object.ts';
import { checkProvider, type KnownSite, type ProviderOptions } from './provider.ts';
import { ReportBuilder, type VerifyReport } from './report.ts';

const TIMEOUT = 30_000;

/** An answer that is not 200, or none. */
class NoAnswer extends CodedError<'unreadable' | 'file-missing'> {
  constructor(code: 'unreadable' | 'file-missing', message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}

/**
 * Checks host proof and descriptor, and the named documents. Nothing is followed: no redirect, no link.
 *
 * @param url - of the content host; a path in it names the first document
 * @param paths - of further documents, as they stand in URLs
 * @throws PublishError `tree-unreadable` if the host does not answer at all
 */
export async function verifyUrl(
  url: URL,
  paths: readonly string[],
  options: Partial<ProviderOptions> = {},
): Promise<VerifyReport> {
  const report = new ReportBuilder();
  const site = await readProvider(url, { now: nowInSeconds(), ...options }, report);
  if (url.protocol === 'http:')
    report.note('over http, the host proof does not prove that the host is the one that was meant');
  report.note('only the documents that were named were checked: there is no signed list of documents yet');
  if (site === undefined) return report.report();
  const named = paths.length > 0 && url.pathname === '/' ? paths : [url.pathname, ...paths];
  for (const path of named) await checkNamed(url, path, site, report);
  return report.report();
}

async function readProvider(url: URL, options: ProviderOptions, report: ReportBuilder): Promise<KnownSite | undefined> {
  const descriptor = await fetchSmall(url, DESCRIPTOR_PATH, MESSAGE_LIMITS.descriptor + 1);
  const proof = await fetchSmall(url, HOST_PROOF_PATH, MESSAGE_LIMITS.hostProof);
  return checkProvider(descriptor, proof && new TextDecoder().decode(proof), options, report);
}

/** `undefined` if the host does not have it; unlike for documents, a host that does not answer is an error. */
async function fetchSmall(url: URL, path: string, maximum: number): Promise<Uint8Array | undefined> {
  try {
    return await startOf(fetchBody(url, path), maximum);
  } catch (error) {
    if (error instanceof NoAnswer && error.code === 'file-missing') return undefined;
    const message = `cannot read ${printable(url.origin + path)}: ${systemReason(error)}`;
    throw new PublishError('tree-unreadable', message, { cause: error });
  }
}

async function checkNamed(url: URL, named: string, site: KnownSite, report: ReportBuilder): Promise<void> {
  const path = URL.canParse(named, url.origin) ? documentPathOf(new URL(named, url.origin).pathname) : undefined;
  if (path === undefined) {
    report.find(named, 'path-refused', 'no document can stand at this path');
    return;
  }
  try {
    const { object, carried } = await fetchObject(url, path);
    const expected = { site: site.site, path, publisherKey: site.publisherKey };
    const kind = await verifyObject(object, expected, async () => fetchBody(url, urlPathOf(path)));
    report.count(kind);
    if (kind === 'encrypted' && !carried && isPage(mediaTypeOf(path))) await checkFallback(url, path, site, report);
  } catch (error) {
    if (!(error instanceof ObjectError || error instanceof NoAnswer)) throw error;
    report.find(path, error.code, error.message);
  }
}

/** The object beside the document, or, where there is none, inside it. */
async function fetchObject(url: URL, path: string): Promise<{ object: AsyncIterable<Uint8Array>; carried: boolean }> {
  try {
    return { object: openCarrier(await begun(fetchBody(url, objectUrlPathOf(path)))), carried: false };
  } catch (error) {
    if (!(error instanceof NoAnswer) || error.code !== 'file-missing') throw error;
    return { object: openCarrier(fetchBody(url, urlPathOf(path))), carried: true };
  }
}

async function checkFallback(url: URL, path: string, site: KnownSite, report: ReportBuilder): Promise<void> {
  const bytes = await startOf(fetchBody(url, urlPathOf(path)), MAXIMUM_FALLBACK_PAGE + 1);
  const page = isHtmlCarrier(bytes) ? undefined : recogniseFallbackPage(bytes);
  if (page === undefined) report.find(path, 'fallback-altered', 'not a fallback page as wispr makes them');
  else if (!leadsTo(page, site.reading, urlPathOf(path))) {
    report.find(path, 'fallback-altered', `the fallback page leads to ${page.reading}`);
  } else report.fallbackPage(path, page);
}

/** The body of an answer with status 200. */
async function* fetchBody(url: URL, path: string): AsyncGenerator<Uint8Array> {
  try {
    const { statusCode, body } = await request(url.origin + path, { headersTimeout: TIMEOUT, bodyTimeout: TIMEOUT });
    body.on('error', () => undefined); // that it was not read to the end; real errors come out of the iteration
    try {
      if (statusCode !== 200) {
        const code = statusCode === 404 || statusCode === 410 ? 'file-missing' : 'unreadable';
        throw new NoAnswer(code, `the host answers ${statusCode} at ${path}`);
      }
      yield* body;
    } finally {
      body.destroy();
    }
  } catch (error) {
    if (error instanceof CodedError) throw error;
    throw new NoAnswer('unreadable', `the host does not answer at ${path}: ${systemReason(error)}`, { cause: error });
  }
}

/** Waits for the first bytes, so that a missing object is known before it is opened. */
async function begun(stream: AsyncGenerator<Uint8Array>): Promise<AsyncGenerator<Uint8Array>> {
  const first = await stream.next();
  return (async function* () {
    if (first.done) return;
    yield first.value;
    yield* stream;
  })();
}

async function startOf(stream: AsyncIterable<Uint8Array>, length: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for await (const part of stream) {
    parts.push(part);
    total += part.length;
    if (total >= length) break;
  }
  return Buffer.concat(parts).subarray(0, length);
}
