/** How the makers below write a vector down. What it must come to is said by hand, never asked of core. */
import { utf8 } from '../../../core/encoding/bytes.ts';
import type { JsonObject } from '../../../core/encoding/canonical-json.ts';
import type { Metadata } from '../../../core/object/metadata.ts';
import { encodeObject, type ObjectOptions } from '../../../core/object/writer.ts';
import { type ObjectVector, type ObjectVectorFile, pack, type Reader, toBase64 } from '../format.ts';
import { describeBytes } from '../run/objects.ts';
import { encryptedOptions, NOW, publisher, SITE, setKey } from './fixed.ts';
import { type Parts, splitObject } from './forge.ts';

const DAY = 86_400;

/** The reader of every vector, but for what the vector says. */
export const READER: ObjectVectorFile['reader'] = {
  site: SITE,
  publisherKey: toBase64(publisher.publicKey),
  keys: [{ id: setKey.id, key: toBase64(setKey.key), notBefore: NOW - DAY, notAfter: NOW + DAY }],
  now: NOW,
};

interface Details {
  readonly attacks?: readonly number[];
  readonly reader?: Partial<Reader>;
  /** What the content host has at a signed document's own URL. */
  readonly content?: Uint8Array;
  /** What comes out before the failure. */
  readonly released?: Uint8Array;
}

/** A vector that is opened. */
export async function accepted(
  name: string,
  object: Uint8Array,
  metadata: Metadata,
  released: Uint8Array,
  details: Details = {},
): Promise<ObjectVector> {
  return {
    ...(await vector(name, object, 'success', { ...details, released })),
    metadata: { ...metadata } as JsonObject,
  };
}

/** A vector that is refused, with the code of the check that must refuse it. */
export function refused(
  name: string,
  outcome: string,
  object: Uint8Array,
  details: Details = {},
): Promise<ObjectVector> {
  return vector(name, object, outcome, details);
}

async function vector(name: string, object: Uint8Array, outcome: string, details: Details): Promise<ObjectVector> {
  const { attacks, reader, content, released } = details;
  return {
    name,
    ...(attacks && { attacks }),
    object: pack(object),
    ...(content && { content: pack(content) }),
    reader: { path: '/a.html', ...reader },
    outcome,
    released: await describeBytes(released ?? new Uint8Array(0)),
  };
}

/** The content of the small documents. */
export const TEXT = utf8('<!doctype html><title>News</title><p>Nothing happened today.\n');

/** A small encrypted object of {@link TEXT}, whole. */
export async function smallObject(name: string, changes: Partial<ObjectOptions> = {}): Promise<Uint8Array> {
  return encodeObject(await encryptedOptions(name, TEXT.length, changes), TEXT);
}

/** A small encrypted object, in parts. */
export async function smallParts(name: string, changes: Partial<ObjectOptions> = {}): Promise<Parts> {
  return splitObject(await smallObject(name, changes));
}

/** Options of a signed document. */
export function signedOptions(contentLength: number, changes: Partial<ObjectOptions> = {}): ObjectOptions {
  return {
    site: SITE,
    path: '/style.css',
    publisher,
    metadata: { contentLength, mediaType: 'text/css' },
    ...changes,
  };
}

/** The head of a signed document of {@link TEXT}. */
export function smallHead(changes: Partial<ObjectOptions> = {}): Promise<Uint8Array> {
  return encodeObject(signedOptions(TEXT.length, { path: '/a.html', ...changes }), TEXT);
}
