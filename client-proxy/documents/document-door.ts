/**
 * Answers a request for a document of a connected site: what HTTP says of GET, HEAD, conditions and ranges, on top of `core/`, which
 * decides what may be shown. Forward proxy and gateway both come here.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import type { DocumentReader, ReadingContext } from '../../core/object/document-reader.ts';
import type { ByteRange } from '../../core/object/geometry.ts';
import type { ContentCoding } from '../../core/object/metadata.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { isSingleRange, parseByteRange, sliceOf } from '../../core/reading/byte-range.ts';
import { CONFIRMED_HEADER } from '../../core/reading/confirmation.ts';
import { chooseRepresentation, type Representation } from '../../core/reading/representation.ts';
import { isNotModified, preconditionFails, rangeApplies } from '../../core/reading/validators.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { onceClosed } from '../../node-support/once-closed.ts';
import type { GatewayLinks } from '../gateway/links.ts';
import { type Rewriting, rewritingOf, rewrittenFields, rewrittenRepresentation } from '../gateway/rewriting.ts';
import { LIMITS } from '../limits.ts';
import { type HeaderFields, VIA } from '../network/answer-fields.ts';
import { CLIENT_LEFT } from '../network/failures.ts';
import type { BoundSite } from '../site/bound-sites.ts';
import type { ChangedDeliveries } from './changed-deliveries.ts';
import { ContentSource } from './content-source.ts';
import { deliver } from './delivery.ts';
import { type Door, documentHeaders } from './document-headers.ts';
import { type ContentAccess, describeFor, type Opened, openFor, openPart } from './open-document.ts';
import type { Payload, Supply } from './payload.ts';

/** What serving documents needs, for all sites together. */
export interface DeliveryAccess extends ContentAccess {
  readonly deliveries: ChangedDeliveries;
}

/** A request for something of a connected site. */
export interface SiteExchange {
  readonly bound: BoundSite;
  readonly description: SiteDescription;
  /** By which door the request came. */
  readonly door: Door;
  /** In the gateway: the links that stay in it. */
  readonly links: GatewayLinks | undefined;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface DocumentRequest extends SiteExchange {
  /** The document's path. */
  readonly path: string;
  /** What the publication says of it. */
  readonly entry: DocumentEntry;
  /** 404: it stands for one that does not exist, and is sent whole. */
  readonly status: 200 | 404;
  /** The moment to judge keys by, in place of the time: then nothing is fetched, neither content nor keys. */
  readonly past?: { readonly time: number } | undefined;
  /** When the publication was last confirmed, as {@link CONFIRMED_HEADER} says it. */
  readonly confirmed: string;
  /** Answers in place of the document, where it returns `true`: asked with the headers that the document would have. */
  readonly instead: (headers: HeaderFields) => boolean;
  /** Called with a copy of the first bytes of a whole document that is sent, as they are carried. */
  readonly noteStart?: ((start: Uint8Array, coding: ContentCoding | undefined) => void) | undefined;
}

/** Bytes of a document's start that are noted. */
const START = 16_384;

/** One request on its way. */
interface Exchange extends DocumentRequest, Supply {
  /** The `Range` header, where it may be honoured. */
  readonly range: string | undefined;
  readonly deliveries: ChangedDeliveries;
}

/** Why a request to a content host ends: said at every request, so made once. */
const NOTHING_MORE = new Error('nothing more is wanted');

/**
 * @returns where the document came from
 * @throws whatever kept the document from being shown; if `response.headersSent`, the caller must end it visibly incomplete
 */
export async function serveDocument(access: DeliveryAccess, wanted: DocumentRequest): Promise<'cache' | 'host'> {
  const { bound, entry, request, response, description } = wanted;
  const source = new ContentSource({
    ...access,
    origins: wanted.past ? [] : description.content,
    inPage: entry.inPage,
  });
  const header = request.method === 'GET' && wanted.status === 200 ? request.headers.range : undefined;
  const range = isSingleRange(header) ? header : undefined;
  const exchange = { ...access, ...wanted, site: bound.site, source, range };
  const goOn = onceClosed(response, () => source.end(CLIENT_LEFT));
  try {
    if (!(await serveRemembered(exchange))) await serveFresh(exchange);
    return source.wasAsked ? 'host' : 'cache';
  } finally {
    goOn();
    source.end(NOTHING_MORE);
  }
}

/** From the beginning: head and first block are verified before anything is decided. */
async function serveFresh(exchange: Exchange): Promise<void> {
  const { bound, path, entry, request, response, source, range } = exchange;
  const expected = { site: bound.site, path, publisherKey: bound.publisherKey, entry };
  const known = bound.remembered.get(path);
  const context = { ...contextOf(exchange), known };
  const isHead = request.method === 'HEAD';
  const opened = isHead ? undefined : await openFor(exchange, expected, context);
  const reader = opened?.reader ?? (await describeFor(exchange, expected, context));
  source.opened();
  if (reader !== known?.reader) bound.remembered.set(path, reader, entry.head);
  const chosen = await represent(reader, exchange);
  if (endEarly(chosen, exchange)) return;
  if (opened === undefined) return void response.writeHead(exchange.status, chosen.headers).end();
  try {
    if (range !== undefined && chosen.ranges && rangeApplies(request.headers, chosen))
      await serveRangeOf(opened, chosen, range, exchange);
    else await sendWhole(opened, chosen, exchange);
  } finally {
    opened.payload.stopKeeping();
  }
}

/** What needs no content: the answer to a condition, or another in place of the document. */
function endEarly(chosen: Decorated, { request, response, status, instead }: Exchange): boolean {
  if (instead(chosen.headers)) return true;
  if (status !== 200) return false;
  if (preconditionFails(request.headers, chosen)) endWithout(response, chosen, 412);
  else if (isNotModified(request.headers, chosen)) endWithout(response, chosen, 304);
  else return false;
  return true;
}

async function sendWhole(
  { content, metadata, payload }: Opened,
  { headers, undo, rewriting }: Decorated,
  { response, status, deliveries, noteStart }: Exchange,
): Promise<void> {
  const policy = metadata.headers?.['content-security-policy'];
  const change = rewriting && (await import('../gateway/rewriter.ts')).createRewriter(rewriting, policy);
  const changes = undo || change ? { undo, change, deliveries } : undefined;
  payload.beginKeeping();
  const { contentLength: length, contentCoding } = metadata;
  const sent = noteStart ? notingStart(content, (start) => noteStart(start, contentCoding)) : content;
  await deliver(response, { status, headers, content: sent, length, changes, spend: (piece) => payload.spend(piece) });
}

/** A copy: the memory of a piece is used again once it is sent. */
async function* notingStart(
  content: AsyncIterable<Uint8Array>,
  note: (start: Uint8Array) => void,
): AsyncGenerator<Uint8Array, undefined> {
  let isFirst = true;
  for await (const piece of content) {
    if (isFirst) note(piece.slice(0, START));
    isFirst = false;
    yield piece;
  }
}

/** A range of a document that was just opened: out of what is coming, or, where much would be skipped, by a request of its own. */
async function serveRangeOf(opened: Opened, chosen: Decorated, header: string, exchange: Exchange): Promise<void> {
  const { reader, content, metadata, payload } = opened;
  const { response, source } = exchange;
  const range = parseByteRange(header, metadata.contentLength);
  if (range === undefined) return sendWhole(opened, chosen, exchange);
  if (range === 'unsatisfiable') return endUnsatisfiable(response, chosen, metadata.contentLength);
  if (range.start <= LIMITS.skippedInStream) {
    if (range.end === metadata.contentLength) payload.beginKeeping();
    else payload.stopKeeping();
    return sendRange(sliceOf(content, range), payload, chosen, range, exchange);
  }
  source.release();
  if (!(await serveBlocks(reader, chosen, header, exchange))) await serveFresh({ ...exchange, range: undefined });
}

/**
 * With a head that was verified a while ago, and is still the one that the publication names: conditions and HEAD are answered without asking
 * for anything, and ranges are fetched by themselves. `false`: nothing was sent, and the document has to be opened anew.
 */
async function serveRemembered(exchange: Exchange): Promise<boolean> {
  const { bound, path, entry, request, response, range, status } = exchange;
  const isHead = request.method === 'HEAD';
  const wanted = isHead || (status === 200 && (range !== undefined || isConditional(request)));
  const known = wanted ? bound.remembered.get(path) : undefined;
  if (known === undefined || known.headHash !== entry.head) return false;
  const reader = await known.reader.confirm(contextOf(exchange));
  const chosen = await represent(reader, exchange);
  if (endEarly(chosen, exchange)) return true;
  if (isHead) {
    response.writeHead(status, chosen.headers).end();
    return true;
  }
  if (range === undefined || !chosen.ranges || !rangeApplies(request.headers, chosen)) return false;
  return serveBlocks(reader, chosen, range, exchange);
}

function contextOf({ bound: { keys }, past }: Exchange): ReadingContext {
  return past ? { findKey: keys.findKept, now: past.time } : { findKey: keys.find, now: nowInSeconds() };
}

function isConditional({ headers }: IncomingMessage): boolean {
  return (
    headers['if-none-match'] !== undefined ||
    headers['if-modified-since'] !== undefined ||
    headers['if-match'] !== undefined ||
    headers['if-unmodified-since'] !== undefined
  );
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
  if (range === undefined) return false;
  if (range === 'unsatisfiable') {
    endUnsatisfiable(response, chosen, contentLength);
    return true;
  }
  try {
    const payload = await openPart(exchange, reader, reader.payloadRange(range));
    payload.stopKeeping();
    const content = tellingWhenOpen(reader.contentRange(range, payload), source);
    await sendRange(content, payload, chosen, range, exchange);
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
  payload: Payload,
  { headers, total }: Decorated,
  { start, end }: ByteRange,
  { response }: Exchange,
): Promise<void> {
  const length = end - start;
  const fields = {
    ...headers,
    'content-length': String(length),
    'content-range': `bytes ${start}-${end - 1}/${total}`,
  };
  return deliver(response, { status: 206, headers: fields, content, length, spend: (piece) => payload.spend(piece) });
}

/** A representation with the headers that leave this program. */
interface Decorated extends Omit<Representation, 'headers'> {
  readonly headers: HeaderFields;
  /** Bytes of the content as it is carried. */
  readonly total: number;
  /** What the gateway changes on the way. */
  readonly rewriting: Rewriting | undefined;
}

async function represent(reader: DocumentReader, { door, links, request, confirmed }: Exchange): Promise<Decorated> {
  const carried = await chooseRepresentation(reader, request.headers);
  const rewriting = rewritingOf(reader.metadata.mediaType, links);
  const chosen = rewriting ? rewrittenRepresentation(carried, rewriting) : carried;
  const fields = links ? rewrittenFields(chosen.headers, links) : chosen.headers;
  const headers = { ...fields, via: VIA, [CONFIRMED_HEADER]: confirmed };
  return { ...chosen, headers: documentHeaders(headers, door), total: reader.metadata.contentLength, rewriting };
}

function endWithout(response: ServerResponse, { headers }: Decorated, status: 304 | 412): void {
  const { 'content-type': _type, 'content-length': _length, 'content-encoding': _coding, ...rest } = headers;
  response.writeHead(status, status === 412 ? { ...rest, 'content-length': '0' } : rest).end();
}

function endUnsatisfiable(response: ServerResponse, { headers }: Decorated, total: number): void {
  const { 'content-type': _type, ...rest } = headers;
  response.writeHead(416, { ...rest, 'content-length': '0', 'content-range': `bytes */${total}` }).end();
}
