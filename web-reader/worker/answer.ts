/** What HTTP says of a document that a page asks for: GET and HEAD, conditions and ranges, on top of `core/`, which decides what may be shown. */
import type { DocumentReader, ReadingContext } from '../../core/object/document-reader.ts';
import type { ByteRange } from '../../core/object/geometry.ts';
import type { ContentCoding } from '../../core/object/metadata.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { isSingleRange, parseByteRange, sliceOf } from '../../core/reading/byte-range.ts';
import { CONFIRMED_HEADER } from '../../core/reading/confirmation.ts';
import { documentHeaders } from '../../core/reading/document-headers.ts';
import { chooseRepresentation, type Representation } from '../../core/reading/representation.ts';
import type { RequestHeaders } from '../../core/reading/request-headers.ts';
import { isNotModified, preconditionFails, rangeApplies } from '../../core/reading/validators.ts';
import { WebReaderError } from '../errors.ts';
import { describe, openPart, openWhole } from './documents.ts';
import { inOrder } from './hosts.ts';
import type { Payload, Supply } from './payload.ts';
import type { ReadSite } from './site.ts';

/** Opened documents that are remembered, for ranges and conditions. */
const REMEMBERED = 100;

export interface DocumentWish {
  readonly request: Request;
  readonly site: ReadSite;
  readonly publisherKey: Uint8Array;
  readonly path: string;
  /** What the publication says of it. */
  readonly entry: DocumentEntry;
  /** 404: it stands for one that does not exist, and is sent whole. */
  readonly status: 200 | 404;
  /** When the publication was last confirmed, as {@link CONFIRMED_HEADER} says it. */
  readonly confirmed: string;
  readonly context: ReadingContext;
}

interface Exchange extends DocumentWish {
  readonly supply: Supply;
  readonly headers: RequestHeaders;
}

/** By the hash of the head. */
const remembered = new Map<string, DocumentReader>();

/**
 * A document as the answer to a request.
 *
 * @throws what kept it from being shown; nothing was released then. What fails later ends the body with an error
 */
export async function answerDocument(wish: DocumentWish): Promise<Response> {
  const { request, site, path, entry, status } = wish;
  const supply = { path, entry, hosts: inOrder(site.content) };
  const exchange = { ...wish, supply, headers: Object.fromEntries(request.headers) };
  if (request.method === 'HEAD') return answerHead(exchange);
  const { range } = exchange.headers;
  const whole = () => answerWhole(exchange);
  return status === 200 && isSingleRange(range) ? answerRange(exchange, range, whole) : whole();
}

async function answerHead(exchange: Exchange): Promise<Response> {
  const chosen = await chooseRepresentation(await readerFor(exchange), exchange.headers);
  return unconditional(exchange, chosen) ?? respond(exchange, chosen, exchange.status, null);
}

async function answerWhole(exchange: Exchange): Promise<Response> {
  const { supply, site, path, publisherKey, entry, context, status } = exchange;
  const opened = await openWhole(supply, { site: site.site, path, publisherKey, entry }, context);
  remember(entry, opened.reader);
  const { payload, content } = opened;
  try {
    const chosen = await chooseRepresentation(opened.reader, exchange.headers);
    const early = unconditional(exchange, chosen);
    if (early) {
      payload.end();
      return early;
    }
    const undo = decoderFor(chosen.undo);
    await payload.beginKeeping();
    const body = streamOf(content, payload);
    return respond(exchange, chosen, status, undo ? body.pipeThrough(undo) : body);
  } catch (error) {
    payload.end();
    throw error;
  }
}

/** @param whole - answers with all of it, where a range cannot be had or is not wanted of this version */
async function answerRange(
  exchange: Exchange,
  header: string | undefined,
  whole: () => Promise<Response>,
): Promise<Response> {
  const reader = await readerFor(exchange);
  const chosen = await chooseRepresentation(reader, exchange.headers);
  const early = unconditional(exchange, chosen);
  if (early) return early;
  const total = reader.metadata.contentLength;
  const range = chosen.ranges && rangeApplies(exchange.headers, chosen) ? parseByteRange(header, total) : undefined;
  if (range === undefined) return whole();
  if (range === 'unsatisfiable') return respond(exchange, chosen, 416, null, { 'content-range': `bytes */${total}` });
  const body = await openRange(exchange, reader, range);
  return respond(exchange, chosen, 206, body, {
    'content-length': String(range.end - range.start),
    'content-range': `bytes ${range.start}-${range.end - 1}/${total}`,
  });
}

/** The blocks that hold a range; of an object that stands in a page as text, or where all is wanted, the whole. */
async function openRange(exchange: Exchange, reader: DocumentReader, range: ByteRange): Promise<ReadableStream> {
  const { supply, site, path, publisherKey, entry, context } = exchange;
  if (entry.inPage || (range.start === 0 && range.end === reader.metadata.contentLength)) {
    const { content, payload } = await openWhole(supply, { site: site.site, path, publisherKey, entry }, context);
    if (range.end === reader.metadata.contentLength) await payload.beginKeeping();
    else payload.stopKeeping();
    return streamOf(sliceOf(content, range), payload);
  }
  const payload = await openPart(supply, reader, reader.payloadRange(range));
  payload.stopKeeping();
  return streamOf(reader.contentRange(range, payload), payload);
}

async function readerFor({ supply, site, path, publisherKey, entry, context }: Exchange): Promise<DocumentReader> {
  const known = remembered.get(entry.head);
  if (known) return known.confirm(context);
  const reader = await describe(supply, { site: site.site, path, publisherKey, entry }, context);
  remember(entry, reader);
  return reader;
}

function remember({ head }: DocumentEntry, reader: DocumentReader): void {
  remembered.delete(head);
  remembered.set(head, reader);
  for (const oldest of remembered.keys()) {
    if (remembered.size <= REMEMBERED) return;
    remembered.delete(oldest);
  }
}

/** The answer to a condition, where there is one. */
function unconditional(exchange: Exchange, chosen: Representation): Response | undefined {
  if (exchange.status !== 200) return undefined;
  if (preconditionFails(exchange.headers, chosen)) return respond(exchange, chosen, 412, null);
  return isNotModified(exchange.headers, chosen) ? respond(exchange, chosen, 304, null) : undefined;
}

const WITHOUT_CONTENT: readonly number[] = [304, 412, 416];

function respond(
  { confirmed }: Exchange,
  chosen: Representation,
  status: number,
  body: ReadableStream | null,
  fields: Readonly<Record<string, string>> = {},
): Response {
  const headers = new Headers({ [CONFIRMED_HEADER]: confirmed });
  for (const [name, value] of Object.entries({ ...documentHeaders(chosen.headers), ...fields }))
    for (const each of [value].flat()) headers.append(name, each);
  if (status === 404) headers.delete('etag');
  if (WITHOUT_CONTENT.includes(status)) for (const name of ['content-type', 'content-length']) headers.delete(name);
  return new Response(body, { status, headers });
}

/** @throws WebReaderError `coding-unsupported` */
function decoderFor(coding: ContentCoding | undefined): TransformStream | undefined {
  if (coding === undefined) return undefined;
  try {
    return new DecompressionStream((coding === 'br' ? 'brotli' : coding) as CompressionFormat);
  } catch (cause) {
    throw new WebReaderError('coding-unsupported', `this browser cannot undo "${coding}"`, { cause });
  }
}

/** Blocks that are verified before the page asks for them: a page that waited for each would get half as many. */
const AHEAD = 4;

/** Content as a page takes it. A block that fails its check ends it with an error: what came before is not the whole. */
function streamOf(content: AsyncGenerator<Uint8Array>, payload: Payload): ReadableStream<Uint8Array> {
  const source: UnderlyingDefaultSource<Uint8Array> = {
    pull: async (controller) => {
      try {
        const piece = await content.next();
        if (!piece.done) return controller.enqueue(piece.value);
        payload.end();
        controller.close();
      } catch (error) {
        payload.end();
        controller.error(error);
      }
    },
    cancel: async () => {
      payload.end();
      await content.return(undefined).catch(() => undefined);
    },
  };
  return new ReadableStream(source, { highWaterMark: AHEAD });
}
