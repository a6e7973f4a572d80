/** Cuts a range out of a document that was sent whole for its content coding, and makes the head fit. */
import type { IncomingHttpHeaders } from 'node:http';
import { partsOf } from '../../reading/multipart.ts';
import { rangeApplies } from '../../reading/validators.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';

/** Range of a document that is wanted: bytes from `start` to `end`, both included; without `start` the last `end`, without `end` all from `start`. */
export interface RequestedRange {
  readonly start: number | undefined;
  readonly end: number | undefined;
}

export interface FetchedDocument {
  /** Address of the document: after redirects that the publisher signed. */
  readonly address: string;
  /** 200, 206, or 304 where a condition among the header fields says that the caller has it already: then there is no content. */
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values alternate. */
  readonly rawHeaders: readonly string[];
  /** Verified piece by piece. What breaks it off is thrown out of it, after everything that was verified before. */
  readonly content: AsyncIterable<Uint8Array>;
}

type Head = Pick<FetchedDocument, 'headers' | 'rawHeaders'>;

/** Tells whether `If-Range` asks for the whole of what is there: the end of one version does not go with the beginning of another. */
export function isForAnother(ifRange: string | undefined, { headers }: Head): boolean {
  const { etag = '', 'last-modified': lastModified } = headers;
  return !rangeApplies({ 'if-range': ifRange }, { etag, lastModified });
}

/** Leaves `Content-Range` out where the end is not known, and far. @throws ReaderError `condition-unmet`; as the content */
export async function cutRange(whole: FetchedDocument, range: RequestedRange): Promise<FetchedDocument> {
  const length = Number(whole.headers['content-length'] ?? Number.NaN);
  const { start, end } = positionsOf(range, length);
  const { pieces, bytes, isAll, rest } = await peek(partsOf(whole.content, 0, [{ start, end }]));
  if (bytes === 0) throw new ReaderError('condition-unmet', 'it is shorter than where the range begins');
  const last = isAll ? start + bytes : Math.min(end, length);
  const known = Number.isNaN(last) ? undefined : { start, last, total: Number.isNaN(length) ? '*' : `${length}` };
  return {
    ...whole,
    status: 206,
    statusMessage: 'Partial Content',
    ...headOfRange(whole, known),
    content: joined(pieces, rest),
  };
}

/** Returns positions as of a slice: `end` is behind the last byte. `length`: not a number while it is unknown. */
function positionsOf({ start, end }: RequestedRange, length: number): { start: number; end: number } {
  if (start !== undefined) return { start, end: end === undefined ? Number.MAX_SAFE_INTEGER : end + 1 };
  if (!Number.isNaN(length)) return { start: Math.max(0, length - (end ?? 0)), end: length };
  throw new ReaderError('condition-unmet', 'how long this document is shows only when all of it is there');
}

/** Reads the beginning before the head is handed on, so that it can say where the range ends. */
async function peek(content: AsyncGenerator<Uint8Array>) {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await content.next();
    if (done) return { pieces, bytes, isAll: true, rest: content };
    pieces.push(value);
    bytes += value.length;
    if (bytes > LIMITS.rangeLookAhead) return { pieces, bytes, isAll: false, rest: content };
  }
}

async function* joined(pieces: Uint8Array[], rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces.splice(0);
    yield* rest;
  } finally {
    await rest.return(undefined); // ends it also where not even the beginning was wanted
  }
}

interface ContentRange {
  readonly start: number;
  readonly last: number;
  readonly total: string;
}

function headOfRange(whole: Head, known: ContentRange | undefined): Head {
  const head = withoutField('content-length', whole);
  if (known === undefined) return head;
  const { start, last, total } = known;
  const [length, range] = [String(last - start), `bytes ${start}-${last - 1}/${total}`];
  return {
    headers: { ...head.headers, 'content-length': length, 'content-range': range },
    rawHeaders: [...head.rawHeaders, 'content-length', length, 'content-range', range],
  };
}

export function withoutField(unwanted: string, { headers, rawHeaders }: Head): Head {
  const { [unwanted]: _, ...rest } = headers;
  const raw = rawHeaders.flatMap((name, index) =>
    index % 2 === 1 || name.toLowerCase() === unwanted ? [] : [name, rawHeaders[index + 1] ?? ''],
  );
  return { headers: rest, rawHeaders: raw };
}
