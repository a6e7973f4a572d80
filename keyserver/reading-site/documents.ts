/**
 * Shows documents: fetched from the content host, verified and decrypted here, with the signed headers and no others. Nothing of a document
 * leaves before its head, its key and its first block have passed; a check that fails later cuts the connection.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import type { OpenedDocument, SetKey } from '../../core/object/document-reader.ts';
import type { ContentCoding } from '../../core/object/metadata.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { parseByteRange, sliceOf } from '../../core/reading/byte-range.ts';
import { documentHeaders } from '../../core/reading/document-headers.ts';
import { openAt } from '../../core/reading/open-at.ts';
import { chooseRepresentation, type Representation } from '../../core/reading/representation.ts';
import { isNotModified, rangeApplies } from '../../core/reading/validators.ts';
import { createDecoder } from '../../node-support/content-coding.ts';
import { onceClosed } from '../../node-support/once-closed.ts';
import { KeyServerError } from '../errors.ts';
import { cutConnection } from '../http/cut.ts';
import type { Provider } from '../publication/provider.ts';
import { findKeyForReading } from '../readers/entitlement.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import type { ContentHosts } from './content-host.ts';

/** Milliseconds until head, key and first block must be there. */
const OPENING_TIMEOUT = 60_000;

export interface DocumentService {
  readonly state: KeyServerState;
  readonly hosts: ContentHosts;
}

/** One document, for one reader. */
export interface DocumentRequest {
  readonly provider: Provider;
  readonly site: SiteDescription;
  readonly path: string;
  /** What the publication says of it. */
  readonly entry: DocumentEntry;
  /** 404: it stands for one that does not exist, and is sent whole. */
  readonly status: 200 | 404;
  /** `undefined` where no subscriber is signed in. */
  readonly subscriber: Subscriber | undefined;
}

/**
 * Answers a GET or HEAD with a document.
 *
 * @throws ReadingError, PublicationError, ObjectError, KeyServerError `not-signed-in`, `not-entitled`, `lapsed`, `revoked`; nothing was sent then
 */
export async function sendDocument(
  service: DocumentService,
  { provider, site, path, entry, status, subscriber }: DocumentRequest,
  request: Request,
  response: Response,
): Promise<void> {
  const transfer = new AbortController();
  onceClosed(response, () => transfer.abort());
  const timer = setTimeout(() => transfer.abort(), OPENING_TIMEOUT);
  try {
    const wanted = { site: site.site, path, publisherKey: provider.descriptor.publisherKeyBytes, entry };
    const findKey = keyFinder(service.state, subscriber, site);
    const fetchContent = service.hosts.fetchFor(site, transfer.signal);
    const document = await openAt(fetchContent, wanted, { findKey, now: service.state.now() });
    clearTimeout(timer);
    if (status === 404) await sendInstead(document, request, response);
    else await sendOpened(document, request, response);
  } catch (error) {
    clearTimeout(timer);
    transfer.abort();
    throw error;
  }
}

function keyFinder(state: KeyServerState, subscriber: Subscriber | undefined, { site }: SiteDescription) {
  return async (id: string): Promise<SetKey | undefined> => {
    if (!subscriber) throw new KeyServerError('not-signed-in', 'no subscriber is signed in');
    const found = await findKeyForReading(state, subscriber, site, id);
    if (typeof found === 'string') throw new KeyServerError(found, 'the subscriber may not have the key of this set');
    return found;
  };
}

/** The publisher's page for what does not exist: the whole of it, whatever part or version was wanted. */
async function sendInstead(document: OpenedDocument, request: Request, response: Response): Promise<void> {
  const chosen = await chooseRepresentation(document.reader, request.headers);
  setHeaders(chosen, response);
  response.removeHeader('ETag');
  response.status(404);
  if (request.method === 'HEAD') return endWithout(document, response, 404);
  return stream(document.content, chosen.undo, response);
}

async function sendOpened(document: OpenedDocument, request: Request, response: Response): Promise<void> {
  const { content, metadata, reader } = document;
  const { contentLength } = metadata;
  const chosen = await chooseRepresentation(reader, request.headers);
  setHeaders(chosen, response);
  if (isNotModified(request.headers, chosen)) return endWithout(document, response, 304);
  if (request.method === 'HEAD') return endWithout(document, response, 200);
  const wanted = chosen.ranges && rangeApplies(request.headers, chosen);
  const range = wanted ? parseByteRange(request.headers.range, contentLength) : undefined;
  if (range === undefined) return stream(content, chosen.undo, response);
  if (range === 'unsatisfiable') {
    return endWithout(document, response.set('Content-Range', `bytes */${contentLength}`), 416);
  }
  const { start, end } = range;
  response.status(206).set('Content-Range', `bytes ${start}-${end - 1}/${contentLength}`);
  response.set('Content-Length', String(end - start));
  return stream(sliceOf(content, range), undefined, response);
}

function setHeaders(chosen: Representation, response: Response): void {
  response.removeHeader('Content-Security-Policy');
  // Not `set`, which adds a charset to what the publisher signed.
  for (const [name, value] of Object.entries(documentHeaders(chosen.headers))) response.setHeader(name, value);
}

async function stream(
  content: AsyncIterable<Uint8Array>,
  coded: ContentCoding | undefined,
  response: Response,
): Promise<void> {
  if (coded === undefined) return pipeline(Readable.from(content, { objectMode: false }), response);
  const source = Readable.from(cuttingOff(response, content), { objectMode: false });
  return pipeline(source, createDecoder(coded), response);
}

/**
 * Cuts the connection before an error goes any further: without a length and in HTTP/1.0, where the end of the connection is the end of
 * the document, only a reset tells that it is not whole.
 */
async function* cuttingOff(response: Response, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    cutConnection(response.socket);
    throw error;
  }
}

async function endWithout(
  { content }: OpenedDocument,
  response: Response,
  status: 200 | 304 | 404 | 416,
): Promise<void> {
  await content.return(undefined);
  if (status === 304 || status === 416) response.removeHeader('Content-Length');
  response.status(status).end();
}
