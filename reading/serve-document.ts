/** Answers a request with a document: what is opened for it, and what of it is sent. The same for every reader; each puts it on its own wire. */
import type { DocumentReader, ReadingContext } from '../core/object/document-reader.ts';
import type { ByteRange } from '../core/object/geometry.ts';
import type { Metadata } from '../core/object/metadata.ts';
import { isRange, sliceOf } from './byte-range.ts';
import { type Adapted, answerContent, type ContentAnswer, type ContentRanges, type ContentRequest } from './content.ts';
import type { WantedDocument } from './open-at.ts';
import { describe, type OpenedHere, openPart, openWhole } from './open-document.ts';
import type { DocumentSupply, Payload } from './payload.ts';
import type { Representation } from './representation.ts';
import { headerOf, type RequestHeaders } from './request-headers.ts';

/** Bytes of a range's start that are skipped in a transfer that has begun; further ones are asked for by themselves. */
const SKIPPED_IN_STREAM = 1_048_576;

/** Documents that were opened before: conditions and ranges of one need nothing of its beginning. */
export interface DocumentMemory {
  /** The reader of this very object, if it was opened before. */
  readonly known: () => DocumentReader | undefined;
  readonly remember: (reader: DocumentReader) => void;
  readonly forget: () => void;
}

export interface ServedDocument<Chosen extends Adapted> {
  readonly supply: DocumentSupply;
  readonly wanted: WantedDocument;
  readonly context: ReadingContext;
  readonly request: ContentRequest;
  /** 404: it stands for one that does not exist. */
  readonly status: 200 | 404;
  readonly memory?: DocumentMemory;
  /** Changes the representation as the reader sends it. */
  readonly adapt: (chosen: Representation) => Chosen;
  /** Called when bytes of the document have passed their checks: from now on only silence ends it. */
  readonly opened?: () => void;
}

export interface DocumentAnswer<Chosen extends Adapted> extends ContentAnswer<Chosen> {
  readonly metadata: Metadata;
  /**
   * Begins the content; not for `part: 'nothing'`.
   *
   * @throws what keeps its first bytes from being shown
   */
  readonly begin: () => Promise<ContentStream>;
}

/** Content on its way. What fails later throws in the middle: what came before is not the whole. */
export interface ContentStream {
  readonly pieces: AsyncGenerator<Uint8Array, unknown>;
  /** Takes the memory of a piece back, once it has left. */
  readonly spend: (piece: Uint8Array) => void;
  /** Nothing more is wanted: a copy that is not whole is given up. */
  readonly stop: () => void;
}

/** @throws what kept the document from being shown: as `openAt` */
export async function serveDocument<Chosen extends Adapted>(
  served: ServedDocument<Chosen>,
): Promise<DocumentAnswer<Chosen>> {
  const { supply, wanted, context, memory } = served;
  const known = mayUseMemory(served) ? memory?.known() : undefined;
  if (known) {
    const reader = await known.confirm(context);
    const answer = await answerOf(reader, served);
    if (answer.part !== 'whole') return { ...answer, begin: () => beginRanges(served, reader, answer.part) };
  }
  if (served.request.method === 'HEAD') {
    const reader = await describe(supply, wanted, context);
    supply.release();
    served.opened?.();
    memory?.remember(reader);
    const answer = await answerOf(reader, served);
    return { ...answer, begin: () => beginRanges(served, reader, answer.part) };
  }
  const opened = await openWhole(supply, wanted, context);
  served.opened?.();
  memory?.remember(opened.reader);
  const answer = await answerOf(opened.reader, served);
  if (answer.part === 'nothing') supply.release();
  return { ...answer, begin: () => beginOpened(served, opened, answer.part) };
}

/** Whether what was opened before may answer: for the whole, block 0 is needed anyway. */
function mayUseMemory({ request: { method, headers }, status }: ServedDocument<Adapted>): boolean {
  return method === 'HEAD' || (status === 200 && (isRange(headerOf(headers, 'range')) || isConditional(headers)));
}

const CONDITIONS = ['if-none-match', 'if-modified-since', 'if-match', 'if-unmodified-since'] as const;

function isConditional(headers: RequestHeaders): boolean {
  return CONDITIONS.some((name) => headers[name] !== undefined);
}

async function answerOf<Chosen extends Adapted>(reader: DocumentReader, served: ServedDocument<Chosen>) {
  const answer = await answerContent(reader, served.request, served.status, served.adapt);
  return { ...answer, metadata: reader.metadata };
}

/** Out of what is coming, or, where much would be skipped, by requests of their own. */
async function beginOpened(
  served: ServedDocument<Adapted>,
  { reader, content, payload, metadata }: OpenedHere,
  part: ContentAnswer['part'],
): Promise<ContentStream> {
  const [first, second] = typeof part === 'string' ? [] : part.ranges;
  if (part !== 'whole' && (first === undefined || second || first.start > SKIPPED_IN_STREAM)) {
    served.supply.release();
    return beginRanges(served, reader, part);
  }
  const isToTheEnd = first === undefined || first.end === metadata.contentLength;
  if (isToTheEnd) await payload.keepWhole();
  else payload.copy.stop();
  return contentOf(first === undefined ? content : sliceOf(content, first), () => payload);
}

/** Fetches the blocks that hold the ranges, and no others. */
async function beginRanges(
  served: ServedDocument<Adapted>,
  reader: DocumentReader,
  part: ContentAnswer['part'],
): Promise<ContentStream> {
  if (typeof part === 'string') throw new Error('this answer has no ranges');
  const parts = new Parts(served, reader);
  const [first] = part.ranges;
  const pieces = part.frame || first === undefined ? parts.framed(part) : parts.one(first);
  const begun = await pieces.next(); // what fails here is an answer of its own
  served.opened?.();
  return contentOf(startingWith(begun, pieces), () => parts.payload);
}

/** Ranges one after the other, each with a payload of its own. */
class Parts {
  readonly #served: ServedDocument<Adapted>;
  readonly #reader: DocumentReader;
  /** Of the range that is being sent. */
  payload: Payload | undefined;

  constructor(served: ServedDocument<Adapted>, reader: DocumentReader) {
    this.#served = served;
    this.#reader = reader;
  }

  async *framed({ ranges, frame }: ContentRanges): AsyncGenerator<Uint8Array> {
    for (const [index, range] of ranges.entries()) {
      const pieces = this.one(range);
      const begun = await pieces.next();
      if (frame?.fronts[index]) yield frame.fronts[index];
      yield* startingWith(begun, pieces);
    }
    if (frame) yield frame.end;
  }

  /** Where its blocks cannot be had by themselves, as in a page that holds the object as text, out of the whole. */
  async *one(range: ByteRange): AsyncGenerator<Uint8Array> {
    const { supply, wanted, context, memory } = this.#served;
    const { start, end } = this.#reader.payloadRange(range);
    let begun: IteratorResult<Uint8Array>;
    let pieces: AsyncGenerator<Uint8Array>;
    try {
      const payload = await openPart(supply, this.#reader, { start, end });
      payload.copy.stop();
      this.payload = payload;
      pieces = this.#reader.contentRange(range, payload);
      begun = await pieces.next();
    } catch {
      memory?.forget();
      supply.release();
      const opened = await openWhole(supply, wanted, context);
      opened.payload.copy.stop();
      this.payload = opened.payload;
      pieces = sliceOf(opened.content, range);
      begun = await pieces.next();
    }
    yield* startingWith(begun, pieces);
  }
}

function contentOf(pieces: AsyncGenerator<Uint8Array, unknown>, payload: () => Payload | undefined): ContentStream {
  return {
    pieces,
    spend: (piece) => payload()?.spend(piece),
    stop: () => payload()?.copy.stop(),
  };
}

async function* startingWith(
  begun: IteratorResult<Uint8Array>,
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array, undefined> {
  try {
    for (let piece = begun; !piece.done; piece = await rest.next()) yield piece.value;
  } finally {
    await rest.return(undefined);
  }
}
