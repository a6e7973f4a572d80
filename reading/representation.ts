/** Content of a document as it is sent: as it is carried, or with its content coding undone (RFC 9110 section 8). */
import type { DocumentReader } from '../core/object/document-reader.ts';
import type { ContentCoding } from '../core/object/metadata.ts';
import { prefersCoding } from './accept-encoding.ts';
import { headerOf, type RequestHeaders } from './request-headers.ts';
import { signedResponseHeaders } from './response-headers.ts';
import type { Validators } from './validators.ts';

export interface Representation extends Validators {
  /** The signed headers, and what describes this transfer; no others. */
  readonly headers: Readonly<Record<string, string>>;
  readonly undo: ContentCoding | undefined;
  /** Tells whether ranges of it can be served: only where no coding is involved. */
  readonly ranges: boolean;
}

/** Chooses for one request. With its coding undone, content has another entity tag, and a length not known yet. */
export async function chooseRepresentation(reader: DocumentReader, request: RequestHeaders): Promise<Representation> {
  const { contentCoding } = reader.metadata;
  const signed = signedHeaders.get(reader) ?? (await computeHeaders(reader));
  const { etag = '', 'last-modified': lastModified } = signed;
  if (contentCoding === undefined) {
    return { headers: { ...signed, 'accept-ranges': 'bytes' }, etag, lastModified, undo: undefined, ranges: true };
  }
  if (prefersCoding(headerOf(request, 'accept-encoding'), contentCoding))
    return { headers: signed, etag, lastModified, undo: undefined, ranges: false };
  const { 'content-encoding': _coding, 'content-length': _length, ...rest } = signed;
  const plainTag = etag.replace(/"$/, '-plain"');
  return { headers: { ...rest, etag: plainTag }, etag: plainTag, lastModified, undo: contentCoding, ranges: false };
}

/** Headers of documents that are read again and again. */
const signedHeaders = new WeakMap<DocumentReader, Record<string, string>>();

async function computeHeaders(reader: DocumentReader): Promise<Record<string, string>> {
  const headers = await signedResponseHeaders(reader.head, reader.metadata);
  signedHeaders.set(reader, headers);
  return headers;
}
