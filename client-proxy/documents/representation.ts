/** What of a document is sent: the content as it is carried, or with its content coding undone. */
import type { IncomingHttpHeaders } from 'node:http';
import type { DocumentReader } from '../../core/object/document-reader.ts';
import type { ContentCoding } from '../../core/object/metadata.ts';
import { signedResponseHeaders } from '../../core/reading/response-headers.ts';
import { acceptsCoding } from './accept-encoding.ts';
import type { Validators } from './validators.ts';

export type HeaderFields = Record<string, string | string[]>;

/** Every answer of this program names the hop. */
export const VIA = '1.1 wispr';

export interface Representation extends Validators {
  readonly headers: HeaderFields;
  /** The coding to undo on the way. */
  readonly undo: ContentCoding | undefined;
  /** Whether ranges of it can be served: only where no coding is involved. */
  readonly ranges: boolean;
}

/**
 * The signed headers, and no other but `Via` and what describes this transfer. Content with its coding undone is another
 * representation, so it has another entity tag, and its length is not known beforehand.
 */
export async function chooseRepresentation(
  reader: DocumentReader,
  request: IncomingHttpHeaders,
): Promise<Representation> {
  const { contentCoding } = reader.metadata;
  const signed = signedHeaders.get(reader) ?? (await computeHeaders(reader));
  const { etag = '', 'last-modified': lastModified } = signed;
  if (contentCoding === undefined) {
    const headers = { ...signed, 'accept-ranges': 'bytes', via: VIA };
    return { headers, etag, lastModified, undo: undefined, ranges: true };
  }
  if (acceptsCoding(acceptEncoding(request), contentCoding))
    return { headers: { ...signed, via: VIA }, etag, lastModified, undo: undefined, ranges: false };
  const { 'content-encoding': _coding, 'content-length': _length, ...rest } = signed;
  const plainTag = etag.replace(/"$/, '-plain"');
  return {
    headers: { ...rest, etag: plainTag, via: VIA },
    etag: plainTag,
    lastModified,
    undo: contentCoding,
    ranges: false,
  };
}

/** For documents that are read again and again. */
const signedHeaders = new WeakMap<DocumentReader, Record<string, string>>();

async function computeHeaders(reader: DocumentReader): Promise<Record<string, string>> {
  const headers = await signedResponseHeaders(reader.head, reader.metadata);
  signedHeaders.set(reader, headers);
  return headers;
}

function acceptEncoding({ 'accept-encoding': header }: IncomingHttpHeaders): string | undefined {
  return Array.isArray(header) ? header.join(',') : header;
}
