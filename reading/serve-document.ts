/** Answers a request with a document: what is opened for it, and what of it is sent. The same for every reader; each puts it on its own wire. */
import type { DocumentReader, ReadingContext } from '../core/object/document-reader.ts';
import type { Metadata } from '../core/object/metadata.ts';
import { isRange } from './byte-range.ts';
import { type Adapted, answerContent, type ContentAnswer, type ContentRanges, type ContentRequest } from './content.ts';
import { faultOf } from './host-faults.ts';
import { partsOf } from './multipart.ts';
import type { WantedDocument } from './open-at.ts';
import { describe, type OpenedHere, openPart, openWhole } from './open-document.ts';
import type { DocumentSupply, Payload } from './payload.ts';
import type { Representation } from './representation.ts';
import { headerOf, type RequestHeaders } from './request-headers.ts';
import { startingWith } from './starting-with.ts';

/** Bytes of a range's start that are skipped in a transfer that has begun; further ones are asked for by themselves. */
const SKIPPED_IN_STREAM = 1_048_576;

/** Documents that were opened before: conditions and ranges of one need nothing of its beginning. */
export interface DocumentMemory {
  /** The reader of this very object, if it was opened before. */
  known(): DocumentReader | undefined;
  remember(reader: DocumentReader): void;
  forget(): void;
}

export interface ServedDocument<Chosen extends Adapted> {
  readonly supply: DocumentSupply;
  readonly wanted: WantedDocument;
  readonly context: ReadingContext;
  readonly request: ContentRequest;
  /** 404: it stands for one that does not exist. */
  readonly status: 200 | 404;
  readonly memory?: DocumentMemory;
  readonly adapt: (chosen: Representation) => Chosen;
  /** Called when bytes of the document have passed their checks: from now on only silence ends it. */
  readonly opened?: () => void;
}

export interface DocumentAnswer<Chosen extends Adapted> extends ContentAnswer<Chosen> {
  readonly metadata: Metadata;
  /** Begins the content; not for `part: 'nothing'`. @throws what keeps its first bytes from being shown */
  readonly begin: () => Promise<ContentStream>;
}

/** Content on its way. What fails later throws in the middle: what came before is not the whole. */
export class ContentStream {
  readonly pieces: AsyncGenerator<Uint8Array, unknown>;
  readonly #holder: { readonly payload: Payload };

  /** @param holder - has the payload that pieces come through */
  constructor(pieces: AsyncGenerator<Uint8Array, unknown>, holder: { readonly payload: Payload }) {
    this.pieces = pieces;
    this.#holder = holder;
  }

  /** Takes the memory of a piece back, once it has left. */
  spend(piece: Uint8Array): void {
    this.#holder.payload.spend(piece);
  }

  /** Gives up a copy that is not whole: nothing more is wanted. */
  stop(): void {
    this.#holder.payload.copy.stop();
  }
}

/** @throws what kept the document from being shown: as `openAt` */
export async function serveDocument<Chosen extends Adapted>(
  served: ServedDocument<Chosen>,
): Promise<DocumentAnswer<Chosen>> {
  const { supply, wanted, context, memory } = served;
  const known = mayUseMemory(served) ? memory?.known() : undefined;
  if (known) {
    const reader = await known.confirm(context);
    const answer = await answerFor(reader, served);
    if (answer.part !== 'whole') return answer;
  }
  if (served.request.method === 'HEAD') {
    const reader = await describe(supply, wanted, context);
    supply.release();
    served.opened?.();
    memory?.remember(reader);
    return answerFor(reader, served);
  }
  const opened = await openWhole(supply, wanted, context);
  served.opened?.();
  memory?.remember(opened.reader);
  const answer = await answerFor(opened.reader, served, opened);
  if (answer.part === 'nothing') supply.release();
  return answer;
}

/** @param opened - the document, where its content is on the way already */
async function answerFor<Chosen extends Adapted>(
  reader: DocumentReader,
  served: ServedDocument<Chosen>,
  opened?: OpenedHere,
): Promise<DocumentAnswer<Chosen>> {
  const { status, headers, part, chosen } = await answerContent(reader, served.request, served.status, served.adapt);
  const begin = () => (opened ? beginOpened(served, opened, part) : beginRanges(served, reader, part));
  return { status, headers, part, chosen, metadata: reader.metadata, begin };
}

/** Tells whether what was opened before may answer: for the whole, block 0 is needed anyway. */
function mayUseMemory({ request: { method, headers }, status }: ServedDocument<Adapted>): boolean {
  return method === 'HEAD' || (status === 200 && (isRange(headerOf(headers, 'range')) || isConditional(headers)));
}

const CONDITIONS = ['if-none-match', 'if-modified-since', 'if-match', 'if-unmodified-since'] as const;

function isConditional(headers: RequestHeaders): boolean {
  return CONDITIONS.some((name) => headers[name] !== undefined);
}

/** Begins out of what is coming, or, where much would be skipped, by a request of its own. */
async function beginOpened(
  served: ServedDocument<Adapted>,
  opened: OpenedHere,
  part: ContentAnswer['part'],
): Promise<ContentStream> {
  const { reader, content, payload, metadata } = opened;
  if (typeof part !== 'string') {
    if ((part.ranges[0]?.start ?? 0) > SKIPPED_IN_STREAM) {
      served.supply.release();
      return beginRanges(served, reader, part);
    }
    if (part.ranges.at(-1)?.end !== metadata.contentLength) {
      payload.copy.stop();
      return new ContentStream(partsOf(content, 0, part.ranges, part.frame), opened);
    }
  }
  await payload.keepWhole();
  const pieces = typeof part === 'string' ? content : partsOf(content, 0, part.ranges, part.frame);
  return new ContentStream(pieces, opened);
}

/** Fetches the blocks from the first range to the last, once, and no others. */
async function beginRanges(
  served: ServedDocument<Adapted>,
  reader: DocumentReader,
  part: ContentAnswer['part'],
): Promise<ContentStream> {
  if (typeof part === 'string') throw new Error('this answer has no ranges');
  const { ranges, frame } = part;
  const span = { start: ranges[0]?.start ?? 0, end: ranges.at(-1)?.end ?? 0 };
  const { supply, wanted, memory } = served;
  // Parts of a page are not parts of the object that it holds as text.
  if (wanted.entry.inPage && wanted.entry.set !== undefined) return beginOutOfWhole(served, part);
  try {
    const payload = await openPart(supply, reader, reader.payloadRange(span));
    payload.copy.stop();
    const pieces = partsOf(reader.contentRange(span, payload), span.start, ranges, frame);
    const begun = await pieces.next(); // a failure here is an answer of its own
    served.opened?.();
    return new ContentStream(startingWith(begun, pieces), { payload });
  } catch (error) {
    if (faultOf(error) === undefined) throw error;
    memory?.forget();
    supply.release();
    return beginOutOfWhole(served, part);
  }
}

async function beginOutOfWhole(
  { supply, wanted, context, opened: onOpened }: ServedDocument<Adapted>,
  { ranges, frame }: ContentRanges,
): Promise<ContentStream> {
  const opened = await openWhole(supply, wanted, context);
  onOpened?.();
  opened.payload.copy.stop();
  return new ContentStream(partsOf(opened.content, 0, ranges, frame), opened);
}
