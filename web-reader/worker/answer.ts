/** What HTTP says of a document that a page asks for: GET and HEAD, conditions and ranges, on top of `core/`, which decides what may be shown. */
import type { DocumentReader, ReadingContext } from '../../core/object/document-reader.ts';
import type { ByteRange } from '../../core/object/geometry.ts';
import type { ContentCoding } from '../../core/object/metadata.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { isSingleRange, sliceOf } from '../../reading/byte-range.ts';
import { CONFIRMED_HEADER } from '../../reading/confirmation.ts';
import { answerContent, type ContentAnswer } from '../../reading/content.ts';
import { documentHeaders } from '../../reading/document-headers.ts';
import type { WantedDocument } from '../../reading/open-at.ts';
import { describe, openPart, openWhole } from '../../reading/open-document.ts';
import type { ObjectCopy } from '../../reading/payload.ts';
import type { Representation } from '../../reading/representation.ts';
import type { RequestHeaders } from '../../reading/request-headers.ts';
import { WebReaderError } from '../errors.ts';
import { WorkerSupply } from './documents.ts';
import { inOrder } from './hosts.ts';
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
  readonly supply: WorkerSupply;
  readonly expected: WantedDocument;
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
  const { request, site, publisherKey, path, entry, status } = wish;
  const supply = new WorkerSupply(path, entry, inOrder(site.content));
  const expected = { site: site.site, path, publisherKey, entry };
  const exchange = { ...wish, supply, expected, headers: Object.fromEntries(request.headers) };
  const isHead = request.method === 'HEAD';
  if (!isHead && !(status === 200 && isSingleRange(exchange.headers.range))) return answerWhole(exchange);
  const reader = await readerFor(exchange);
  const answer = await answerContent(reader, { method: request.method, headers: exchange.headers }, status, asIs);
  if (answer.part === 'whole') return answerWhole(exchange);
  return respond(exchange, answer, answer.part === 'nothing' ? null : await openRange(exchange, reader, answer.part));
}

async function answerWhole(exchange: Exchange): Promise<Response> {
  const { supply, expected, entry, context, status, headers } = exchange;
  const opened = await openWhole(supply, expected, context);
  remember(entry, opened.reader);
  const { payload, content } = opened;
  try {
    const { range: _range, ...rest } = headers;
    const answer = await answerContent(opened.reader, { method: 'GET', headers: rest }, status, asIs);
    if (answer.part === 'nothing') {
      supply.end();
      return respond(exchange, answer, null);
    }
    const undo = decoderFor(answer.chosen.undo);
    await payload.copy.keepWhole();
    const body = streamOf(content, payload.copy, supply);
    return respond(exchange, answer, undo ? body.pipeThrough(undo) : body);
  } catch (error) {
    supply.end();
    throw error;
  }
}

function asIs(chosen: Representation): Representation {
  return chosen;
}

/** The blocks that hold a range; of an object that stands in a page as text, or where all is wanted, the whole. */
async function openRange(exchange: Exchange, reader: DocumentReader, range: ByteRange): Promise<ReadableStream> {
  const { supply, expected, entry, context } = exchange;
  if (entry.inPage || (range.start === 0 && range.end === reader.metadata.contentLength)) {
    const { content, payload } = await openWhole(supply, expected, context);
    if (range.end === reader.metadata.contentLength) await payload.copy.keepWhole();
    else payload.copy.stop();
    return streamOf(sliceOf(content, range), payload.copy, supply);
  }
  const payload = await openPart(supply, reader, reader.payloadRange(range));
  payload.copy.stop();
  return streamOf(reader.contentRange(range, payload), payload.copy, supply);
}

async function readerFor({ supply, expected, entry, context }: Exchange): Promise<DocumentReader> {
  const known = remembered.get(entry.head);
  if (known) return known.confirm(context);
  const reader = await describe(supply, expected, context);
  supply.release();
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

function respond({ confirmed }: Exchange, answer: ContentAnswer, body: ReadableStream | null): Response {
  const headers = new Headers({ [CONFIRMED_HEADER]: confirmed });
  for (const [name, value] of Object.entries(documentHeaders(answer.headers)))
    for (const each of [value].flat()) headers.append(name, each);
  return new Response(body, { status: answer.status, headers });
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
function streamOf(
  content: AsyncGenerator<Uint8Array>,
  copy: ObjectCopy,
  supply: WorkerSupply,
): ReadableStream<Uint8Array> {
  const end = () => {
    copy.stop();
    supply.end();
  };
  const source: UnderlyingDefaultSource<Uint8Array> = {
    pull: async (controller) => {
      try {
        const piece = await content.next();
        if (!piece.done) return controller.enqueue(piece.value);
        end();
        controller.close();
      } catch (error) {
        end();
        controller.error(error);
      }
    },
    cancel: async () => {
      end();
      await content.return(undefined).catch(() => undefined);
    },
  };
  return new ReadableStream(source, { highWaterMark: AHEAD });
}
