/** Rules of HTTP for an opened document: GET and HEAD, conditions, ranges, the stand-in for one that does not exist (RFC 9110). */
import type { DocumentReader } from '../core/object/document-reader.ts';
import type { ByteRange } from '../core/object/geometry.ts';
import { parseByteRanges } from './byte-range.ts';
import { frameParts, type MultipartFrame } from './multipart.ts';
import { chooseRepresentation, type Representation } from './representation.ts';
import { headerOf, type RequestHeaders } from './request-headers.ts';
import { isNotModified, preconditionFails, rangeApplies } from './validators.ts';

export interface ContentRequest {
  readonly method: string;
  readonly headers: RequestHeaders;
}

/** A representation as an adapter sends it: with header fields of its own. */
export type Adapted = Omit<Representation, 'headers'> & {
  readonly headers: Readonly<Record<string, string | string[]>>;
};

export interface ContentAnswer<Chosen extends Adapted = Representation> {
  readonly status: 200 | 206 | 304 | 404 | 412 | 416;
  readonly headers: Chosen['headers'];
  readonly part: 'nothing' | 'whole' | ContentRanges;
  readonly chosen: Chosen;
}

/** Ranges of the content that are sent; several with what stands around them. */
export interface ContentRanges {
  readonly ranges: readonly ByteRange[];
  readonly frame: MultipartFrame | undefined;
}

/** Decides what answers a request. @param status - 404: a stand-in, sent whole, without a tag that would name it */
export async function answerContent<Chosen extends Adapted = Representation>(
  reader: DocumentReader,
  request: ContentRequest,
  status: 200 | 404,
  adapt: (chosen: Representation) => Chosen,
): Promise<ContentAnswer<Chosen>> {
  const chosen = adapt(await chooseRepresentation(reader, request.headers));
  const part = request.method === 'HEAD' ? 'nothing' : 'whole';
  if (status === 404) return { status, headers: without(chosen, 'etag'), part, chosen };
  const bare = () => without(chosen, 'content-type', 'content-length', 'content-encoding');
  if (preconditionFails(request.headers, chosen))
    return { status: 412, headers: { ...bare(), 'content-length': '0' }, part: 'nothing', chosen };
  if (isNotModified(request.headers, chosen)) return { status: 304, headers: bare(), part: 'nothing', chosen };
  const total = reader.metadata.contentLength;
  const wanted = part === 'whole' && chosen.ranges && rangeApplies(request.headers, chosen);
  const ranges = wanted ? parseByteRanges(headerOf(request.headers, 'range'), total) : undefined;
  if (ranges === undefined) return { status, headers: chosen.headers, part, chosen };
  if (ranges === 'unsatisfiable') {
    const headers = { ...bare(), 'content-length': '0', 'content-range': `bytes */${total}` };
    return { status: 416, headers, part: 'nothing', chosen };
  }
  const [{ start, end } = { start: 0, end: 0 }] = ranges;
  if (ranges.length === 1) {
    const fields = { 'content-length': String(end - start), 'content-range': `bytes ${start}-${end - 1}/${total}` };
    return { status: 206, headers: { ...chosen.headers, ...fields }, part: { ranges, frame: undefined }, chosen };
  }
  const frame = frameParts(ranges, total, headerText(chosen, 'content-type'), chosen.etag);
  const fields = { 'content-length': String(frame.length), 'content-type': frame.mediaType };
  return { status: 206, headers: { ...chosen.headers, ...fields }, part: { ranges, frame }, chosen };
}

function headerText({ headers }: Adapted, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function without<Chosen extends Adapted>({ headers }: Chosen, ...names: readonly string[]): Chosen['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}
