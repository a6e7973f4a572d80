/**
 * Answers a request for a document of a connected site: what HTTP says of GET, HEAD, conditions and ranges, on top of `core/`, which
 * decides what may be shown. Forward proxy and gateway both come here.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import type { DocumentReader, OpenedDocument } from '../../core/object/document-reader.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { isSingleRange, parseByteRange, sliceOf } from '../../core/reading/byte-range.ts';
import { CONFIRMED_HEADER } from '../../core/reading/confirmation.ts';
import { openAt } from '../../core/reading/open-at.ts';
import { chooseRepresentation, type Representation } from '../../core/reading/representation.ts';
import { isNotModified, rangeApplies } from '../../core/reading/validators.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { type HeaderFields, VIA } from '../answer-fields.ts';
import type { BoundSite } from '../bound-sites.ts';
import type { Upstream } from '../content/upstream.ts';
import type { GatewayLinks } from '../gateway/links.ts';
import {
  createRewriter,
  type Rewriting,
  rewritingOf,
  rewrittenFields,
  rewrittenRepresentation,
} from '../gateway/rewriting.ts';
import { LIMITS } from '../limits.ts';
import { ContentSource } from './content-source.ts';
import { deliver } from './delivery.ts';
import { type Door, documentHeaders } from './document-headers.ts';
import { fetchBlocks } from './fetch-blocks.ts';

export interface DocumentRequest {
  readonly bound: BoundSite;
  readonly description: SiteDescription;
  /** By which door the request came. */
  readonly door: Door;
  /** In the gateway: the links that stay in it. */
  readonly links: GatewayLinks | undefined;
  /** The document's path. */
  readonly path: string;
  /** What the publication says of it. */
  readonly entry: DocumentEntry;
  /** 404: it stands for one that does not exist, and is sent whole. */
  readonly status: 200 | 404;
  /** When the publication was last confirmed, as {@link CONFIRMED_HEADER} says it. */
  readonly confirmed: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** One request on its way. */
interface Exchange extends DocumentRequest {
  readonly source: ContentSource;
  /** The `Range` header, where it may be honoured. */
  readonly range: string | undefined;
}

/**
 * @throws whatever kept the document from being shown; if `response.headersSent`, the caller must end it visibly incomplete
 */
export async function serveDocument(upstream: Upstream, wanted: DocumentRequest): Promise<void> {
  const { request, response, description } = wanted;
  const source = new ContentSource(upstream, description.content);
  const header = request.method === 'GET' && wanted.status === 200 ? request.headers.range : undefined;
  const exchange = { ...wanted, source, range: isSingleRange(header) ? header : undefined };
  const stop = () => source.end(new Error('the client left'));
  response.once('close', stop);
  try {
    if (!(await serveRemembered(exchange))) await serveFresh(exchange);
  } finally {
    response.off('close', stop);
    source.end(new Error('nothing more is wanted'));
  }
}

/** From the beginning: head and first block are verified before anything is decided. */
async function serveFresh(exchange: Exchange): Promise<void> {
  const { bound, path, entry, status, request, response, source, range } = exchange;
  const expected = { site: bound.site, path, publisherKey: bound.publisherKey, entry };
  const known = bound.remembered.get(path);
  const opened = await openAt(source.fetch, expected, { findKey: bound.keys.find, now: nowInSeconds(), known });
  source.opened();
  if (opened.reader !== known?.reader) bound.remembered.set(path, opened.reader, entry.head);
  const chosen = await represent(opened.reader, exchange);
  if (status === 200 && isNotModified(request.headers, chosen)) endNotModified(response, chosen);
  else if (request.method === 'HEAD') response.writeHead(status, chosen.headers).end();
  else if (range !== undefined && chosen.ranges && rangeApplies(request.headers, chosen))
    await serveRangeOf(opened, chosen, range, exchange);
  else await sendWhole(opened, chosen, exchange);
}

function sendWhole({ content, metadata }: OpenedDocument, chosen: Decorated, exchange: Exchange): Promise<void> {
  const { headers, undo, rewriting } = chosen;
  const { response, status } = exchange;
  const change = rewriting && createRewriter(rewriting, metadata.headers?.['content-security-policy']);
  return deliver(response, { status, headers, content, length: metadata.contentLength, undo, change });
}

/** A range of a document that was just opened: out of what is coming, or, where much would be skipped, by a request of its own. */
async function serveRangeOf(
  opened: OpenedDocument,
  chosen: Decorated,
  header: string,
  exchange: Exchange,
): Promise<void> {
  const { reader, content, metadata } = opened;
  const { response, source } = exchange;
  const range = parseByteRange(header, metadata.contentLength);
  if (range === undefined) return sendWhole(opened, chosen, exchange);
  if (range === 'unsatisfiable') return endUnsatisfiable(response, chosen, metadata.contentLength);
  if (range.start <= LIMITS.skippedInStream)
    return sendRange(sliceOf(content, range), chosen, range, metadata.contentLength, response);
  source.release();
  if (!(await serveBlocks(reader, chosen, header, exchange))) await serveFresh({ ...exchange, range: undefined });
}

/**
 * With a head that was verified a while ago, and is still the one that the publication names: a client that has this version is told so, and
 * ranges are fetched by themselves. `false`: nothing was sent, and the document has to be opened anew.
 */
async function serveRemembered(exchange: Exchange): Promise<boolean> {
  const { bound, path, entry, request, response, range, status } = exchange;
  const conditional = 'if-none-match' in request.headers || 'if-modified-since' in request.headers;
  const known = status === 200 && (conditional || range !== undefined) ? bound.remembered.get(path) : undefined;
  if (known === undefined || known.headHash !== entry.head) return false;
  const reader = await known.reader.confirm({ findKey: bound.keys.find, now: nowInSeconds() });
  const chosen = await represent(reader, exchange);
  if (isNotModified(request.headers, chosen)) {
    endNotModified(response, chosen);
    return true;
  }
  if (range === undefined || !chosen.ranges || !rangeApplies(request.headers, chosen)) return false;
  return serveBlocks(reader, chosen, range, exchange);
}

/**
 * Fetches the blocks that hold a range, and sends it. `false` if nothing was sent, because the content host has another object than `reader`
 * knows, or serves no ranges.
 */
async function serveBlocks(
  reader: DocumentReader,
  chosen: Decorated,
  header: string,
  exchange: Exchange,
): Promise<boolean> {
  const { bound, path, response, source } = exchange;
  const { contentLength } = reader.metadata;
  const range = parseByteRange(header, contentLength);
  if (range === undefined || range === 'unsatisfiable') return false;
  try {
    const payload = await fetchBlocks(reader, range, source, exchange);
    if (payload === undefined) return false;
    const content = tellingWhenOpen(reader.contentRange(range, payload), source);
    await sendRange(content, chosen, range, contentLength, response);
    return true;
  } catch (error) {
    bound.remembered.forget(path);
    if (response.headersSent) throw error;
    source.release();
    return false;
  }
}

/** A head that was verified a while ago says nothing of what comes now: until a block of it is verified, time is bounded. */
async function* tellingWhenOpen(
  content: AsyncIterable<Uint8Array>,
  source: ContentSource,
): AsyncGenerator<Uint8Array, undefined> {
  for await (const piece of content) {
    source.opened();
    yield piece;
  }
}

function sendRange(
  content: AsyncGenerator<Uint8Array>,
  { headers }: Decorated,
  { start, end }: { readonly start: number; readonly end: number },
  total: number,
  response: ServerResponse,
): Promise<void> {
  const length = end - start;
  const fields = {
    ...headers,
    'content-length': String(length),
    'content-range': `bytes ${start}-${end - 1}/${total}`,
  };
  return deliver(response, { status: 206, headers: fields, content, length });
}

/** A representation with the headers that leave this program. */
interface Decorated extends Omit<Representation, 'headers'> {
  readonly headers: HeaderFields;
  /** What the gateway changes on the way. */
  readonly rewriting: Rewriting | undefined;
}

async function represent(reader: DocumentReader, { door, links, request, confirmed }: Exchange): Promise<Decorated> {
  const carried = await chooseRepresentation(reader, request.headers);
  const rewriting = rewritingOf(reader.metadata.mediaType, links);
  const chosen = rewriting ? rewrittenRepresentation(carried, rewriting) : carried;
  const fields = links ? rewrittenFields(chosen.headers, links) : chosen.headers;
  const headers = { ...fields, via: VIA, [CONFIRMED_HEADER]: confirmed };
  return { ...chosen, headers: documentHeaders(headers, door), rewriting };
}

function endNotModified(response: ServerResponse, { headers }: Decorated): void {
  const { 'content-type': _type, 'content-length': _length, 'content-encoding': _coding, ...rest } = headers;
  response.writeHead(304, rest).end();
}

function endUnsatisfiable(response: ServerResponse, { headers }: Decorated, total: number): void {
  const { 'content-type': _type, ...rest } = headers;
  response.writeHead(416, { ...rest, 'content-length': '0', 'content-range': `bytes */${total}` }).end();
}
