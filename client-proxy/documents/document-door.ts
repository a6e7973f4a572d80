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
import { nowInSeconds } from '../../node-support/clock.ts';
import { onceClosed } from '../../node-support/once-closed.ts';
import { isSingleRange, sliceOf } from '../../reading/byte-range.ts';
import { CONFIRMED_HEADER } from '../../reading/confirmation.ts';
import { answerContent, type ContentAnswer } from '../../reading/content.ts';
import { type DocumentInHand, describe, openPart, openWhole } from '../../reading/open-document.ts';
import type { Representation } from '../../reading/representation.ts';
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
import { type ContentAccess, type ReaderPayload, ReaderSupply } from './payload.ts';

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
interface Exchange extends DocumentRequest {
  readonly supply: ReaderSupply;
  readonly source: ContentSource;
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
  const supply = new ReaderSupply({ ...access, site: bound.site, path: wanted.path, entry, source });
  const exchange = { ...wanted, deliveries: access.deliveries, supply, source, range };
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
  const { bound, path, entry, request, source } = exchange;
  const expected = { site: bound.site, path, publisherKey: bound.publisherKey, entry };
  const known = bound.remembered.get(path);
  const context = { ...contextOf(exchange), known };
  const isHead = request.method === 'HEAD';
  const opened = isHead ? undefined : await openWhole(exchange.supply, expected, context);
  const reader = opened?.reader ?? (await describe(exchange.supply, expected, context));
  source.opened();
  if (reader !== known?.reader) bound.remembered.set(path, reader, entry.head);
  const answer = await represent(reader, exchange);
  try {
    if (endEarly(answer, exchange) || opened === undefined) return;
    if (typeof answer.part === 'string') await sendWhole(opened, answer, exchange);
    else await serveRangeOf(opened, answer, answer.part, exchange);
  } finally {
    opened?.payload.copy.stop();
  }
}

/** Ends an answer that needs no content, or has another in place of the document. */
function endEarly({ status, headers, part, chosen }: Represented, { response, instead }: Exchange): boolean {
  if (instead(chosen.headers)) return true;
  if (part !== 'nothing') return false;
  response.writeHead(status, headers).end();
  return true;
}

async function sendWhole(
  { content, metadata, payload }: DocumentInHand<ReaderPayload>,
  { status, headers, chosen: { undo, rewriting } }: Represented,
  { response, deliveries, noteStart }: Exchange,
): Promise<void> {
  const policy = metadata.headers?.['content-security-policy'];
  const change = rewriting && (await import('../gateway/rewriter.ts')).createRewriter(rewriting, policy);
  const changes = undo || change ? { undo, change, deliveries } : undefined;
  payload.keepWhole();
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
async function serveRangeOf(
  opened: DocumentInHand<ReaderPayload>,
  answer: Represented,
  range: ByteRange,
  exchange: Exchange,
): Promise<void> {
  const { reader, content, metadata, payload } = opened;
  if (range.start <= LIMITS.skippedInStream) {
    if (range.end === metadata.contentLength) payload.keepWhole();
    else payload.copy.stop();
    return sendRange(sliceOf(content, range), payload, answer, range, exchange);
  }
  exchange.source.release();
  if (!(await serveBlocks(reader, answer, range, exchange))) await serveFresh({ ...exchange, range: undefined });
}

/**
 * With a head that was verified a while ago, and is still the one that the publication names: conditions and HEAD are answered without asking
 * for anything, and ranges are fetched by themselves. `false`: nothing was sent, and the document has to be opened anew.
 */
async function serveRemembered(exchange: Exchange): Promise<boolean> {
  const { bound, path, entry, request, range, status } = exchange;
  const isHead = request.method === 'HEAD';
  const wanted = isHead || (status === 200 && (range !== undefined || isConditional(request)));
  const known = wanted ? bound.remembered.get(path) : undefined;
  if (known === undefined || known.headHash !== entry.head) return false;
  const reader = await known.reader.confirm(contextOf(exchange));
  const answer = await represent(reader, exchange);
  if (endEarly(answer, exchange)) return true;
  return typeof answer.part !== 'string' && serveBlocks(reader, answer, answer.part, exchange);
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
  answer: Represented,
  range: ByteRange,
  exchange: Exchange,
): Promise<boolean> {
  const { bound, path, response, source } = exchange;
  try {
    const payload = await openPart(exchange.supply, reader, reader.payloadRange(range));
    payload.copy.stop();
    const content = tellingWhenOpen(reader.contentRange(range, payload), source);
    await sendRange(content, payload, answer, range, exchange);
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
  payload: ReaderPayload,
  { status, headers }: Represented,
  { start, end }: ByteRange,
  { response }: Exchange,
): Promise<void> {
  return deliver(response, { status, headers, content, length: end - start, spend: (piece) => payload.spend(piece) });
}

/** A representation with the headers that leave this program. */
interface Decorated extends Omit<Representation, 'headers'> {
  readonly headers: HeaderFields;
  /** What the gateway changes on the way. */
  readonly rewriting: Rewriting | undefined;
}

type Represented = ContentAnswer<Decorated>;

function represent(reader: DocumentReader, exchange: Exchange): Promise<Represented> {
  const { door, links, request, confirmed, status, range } = exchange;
  const asked = { method: request.method ?? '', headers: { ...request.headers, range } };
  return answerContent(reader, asked, status, (carried) => {
    const rewriting = rewritingOf(reader.metadata.mediaType, links);
    const chosen = rewriting ? rewrittenRepresentation(carried, rewriting) : carried;
    const fields = links ? rewrittenFields(chosen.headers, links) : chosen.headers;
    const headers = { ...fields, via: VIA, [CONFIRMED_HEADER]: confirmed };
    return { ...chosen, headers: documentHeaders(headers, door), rewriting };
  });
}
