/** The files in this folder, as README.md describes them. Nothing here needs Node: the runners work in a browser too. */
import type { JsonObject } from '../../core/encoding/canonical-json.ts';

/** Bytes in pieces: base64 for bytes as they are, and a number for so many zero bytes. Keeps big objects small. */
export type Packed = readonly (string | number)[];

/** A set key that the reader has. */
export interface ReaderKey {
  readonly id: string;
  readonly key: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Knowledge of the reader before it looked at the object. */
export interface Reader {
  readonly site: string;
  readonly path: string;
  readonly publisherKey: string;
  readonly keys: readonly ReaderKey[];
  readonly now: number;
}

export interface ObjectVector {
  readonly name: string;
  /** Rows of the catalogue of attacks that it stands for. */
  readonly attacks?: readonly number[];
  /** Bytes that the content host sends: an object, or an HTML carrier. */
  readonly object: Packed;
  /** Bytes that it sends at the document's own URL, for signed documents. */
  readonly content?: Packed;
  /** Differences of the reader from the file's `reader`. */
  readonly reader: Partial<Reader>;
  /** `success`, or the error's code. */
  readonly outcome: string;
  readonly metadata?: JsonObject;
  /** The bytes of content that come out, before the end or before the failure. */
  readonly released: { readonly length: number; readonly sha256: string };
}

export interface ObjectVectorFile {
  readonly reader: Omit<Reader, 'path'>;
  readonly vectors: readonly ObjectVector[];
}

/** Members that every vector of keys.json has; the others depend on the operation (README.md). */
export interface KeyVector {
  readonly name: string;
  readonly attacks?: readonly number[];
  readonly operation: string;
  /** Values by name: base64 of bytes, or text and numbers where README.md says so. */
  readonly input: Readonly<Record<string, string | number>>;
  readonly outcome: string;
  /** Output of a success. */
  readonly result?: JsonObject;
}

export interface KeyVectorFile {
  readonly vectors: readonly KeyVector[];
}

export interface PathVectorFile {
  /** Maps a URL's path to the document's, or to null for a spelling that is refused. */
  readonly documentPathOf: readonly { readonly url: string; readonly path: string | null }[];
  readonly urlPathOf: readonly { readonly path: string; readonly url: string }[];
  readonly isDocumentPath: readonly { readonly path: string; readonly valid: boolean }[];
  readonly isSite: readonly { readonly site: string; readonly valid: boolean }[];
}

export interface CanonicalJsonVectorFile {
  readonly vectors: readonly {
    readonly name: string;
    readonly bytes: string;
    /** Tells whether the bytes are the canonical form of a value. */
    readonly canonical: boolean;
  }[];
}

/** Cuts long runs of zeros out of `bytes`. */
export function pack(bytes: Uint8Array): Packed {
  const packed: (string | number)[] = [];
  let start = 0;
  for (let offset = 0; offset < bytes.length; ) {
    let end = offset;
    while (bytes[end] === 0) end++;
    if (end - offset >= 64) {
      if (offset > start) packed.push(toBase64(bytes.subarray(start, offset)));
      packed.push(end - offset);
      start = end;
    }
    offset = Math.max(end, offset + 1);
  }
  if (bytes.length > start) packed.push(toBase64(bytes.subarray(start)));
  return packed;
}

export function unpack(packed: Packed): Uint8Array {
  const pieces = packed.map((piece) => (typeof piece === 'number' ? new Uint8Array(piece) : fromBase64(piece)));
  const bytes = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
  }
  return bytes;
}

export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
