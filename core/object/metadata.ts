/** Metadata of a document's content: docs/spec/protected-object.md, "Metadata". */
import { hasMembers, isJsonObject, type Json, type JsonObject } from '../encoding/canonical-json.ts';
import { LIMITS } from './limits.ts';

export interface Metadata {
  /** The coding that the content is in (RFC 9110 section 8.4). */
  readonly contentCoding?: ContentCoding;
  /** Bytes of the content as carried: after the coding, without padding. */
  readonly contentLength: number;
  /** Response headers besides; names out of {@link SIGNED_HEADERS}. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Seconds since 1970-01-01T00:00:00Z. */
  readonly lastModified?: number;
  readonly mediaType: string;
}

export type ContentCoding = 'br' | 'gzip';

/** The response headers that a publisher can sign, besides those that have members of their own. */
export const SIGNED_HEADERS = [
  'cache-control',
  'content-disposition',
  'content-language',
  'content-security-policy',
  'cross-origin-embedder-policy',
  'cross-origin-opener-policy',
  'link',
  'permissions-policy',
  'referrer-policy',
  'x-robots-tag',
] as const;

export type SignedHeaderName = (typeof SIGNED_HEADERS)[number];

const VISIBLE_ASCII = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
/** The only values of these headers: the publisher cannot widen who may store a document, or hold the window it is shown in. */
const VALUES: Readonly<Partial<Record<string, RegExp>>> = {
  'cache-control': /^max-age=(?:0|[1-9][0-9]{0,8})(?:, immutable)?$/,
  'cross-origin-embedder-policy': /^(?:require-corp|credentialless)$/,
  'cross-origin-opener-policy': /^same-origin(?:-allow-popups)?$/,
} satisfies Partial<Record<SignedHeaderName, RegExp>>;
const MEDIA_TYPE = /^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+(?: ?; ?[\x20-\x7e]+)?$/;

/** Tells whether `value` has the shape and the bounds of {@link Metadata}. */
export function isMetadata(value: Json | undefined): value is JsonObject & Metadata {
  if (!isJsonObject(value)) return false;
  if (!hasMembers(value, ['contentLength', 'mediaType'], ['contentCoding', 'headers', 'lastModified'])) return false;
  return (
    typeof value.contentLength === 'number' &&
    isMediaType(value.mediaType) &&
    (value.contentCoding === undefined || value.contentCoding === 'br' || value.contentCoding === 'gzip') &&
    (value.lastModified === undefined || typeof value.lastModified === 'number') &&
    (value.headers === undefined || isHeaders(value.headers))
  );
}

function isMediaType(value: Json | undefined): boolean {
  return (
    typeof value === 'string' &&
    value.length <= LIMITS.mediaTypeLength &&
    MEDIA_TYPE.test(value) &&
    VISIBLE_ASCII.test(value)
  );
}

function isHeaders(value: Json): boolean {
  if (!isJsonObject(value) || !hasMembers(value, [], SIGNED_HEADERS)) return false;
  return Object.entries(value).every(([name, text]) => isSignedHeaderValue(name, text));
}

/** Tells whether `value` can be signed as the response header `name`, which is one of {@link SIGNED_HEADERS}. */
export function isSignedHeaderValue(name: string, value: Json): value is string {
  if (typeof value !== 'string' || value.length > LIMITS.headerValueLength || !VISIBLE_ASCII.test(value)) return false;
  return VALUES[name]?.test(value) ?? true;
}
