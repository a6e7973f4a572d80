/** The header of a protected object: docs/spec/protected-object.md, "Header". Parsing happens before the signature is checked. */
import { isKeyId, type KeyId } from '../crypto/key-id.ts';
import { encodeBase64, URL_SAFE } from '../encoding/base64.ts';
import { fromBase64url } from '../encoding/base64url.ts';
import {
  canonicalJson,
  hasMembers,
  isJsonObject,
  type Json,
  type JsonObject,
  parseCanonicalJson,
} from '../encoding/canonical-json.ts';
import { isDocumentPath } from '../site/path.ts';
import { isSite } from '../site/site.ts';
import { ObjectError } from './errors.ts';
import { isPossibleShape, type PayloadShape } from './geometry.ts';
import { LIMITS } from './limits.ts';
import { isMetadata, type Metadata } from './metadata.ts';

interface CommonHeader {
  readonly blockChunks: number;
  /** base64url of SHA-256 of the block digests. */
  readonly digestListDigest: string;
  readonly path: string;
  readonly payloadLength: number;
  /** Key id of the publisher's Ed25519 key. */
  readonly publisher: KeyId;
  readonly site: string;
}

export interface EncryptedHeader extends CommonHeader {
  /** Key id of the set key. */
  readonly set: KeyId;
}

export interface SignedHeader extends CommonHeader {
  readonly metadata: Metadata;
}

export type Header = EncryptedHeader | SignedHeader;

const COMMON_MEMBERS = ['blockChunks', 'digestListDigest', 'path', 'payloadLength', 'publisher', 'site'];

export function isEncrypted(header: Header): header is EncryptedHeader {
  return 'set' in header;
}

export function payloadShape(header: Header): PayloadShape {
  return { encrypted: isEncrypted(header), payloadLength: header.payloadLength, blockChunks: header.blockChunks };
}

/** The bytes of a header; these exact bytes are signed. */
export function encodeHeader(header: Header): Uint8Array {
  return canonicalJson({ ...header } as unknown as JsonObject);
}

/**
 * Puts the digest of the digest list into a header that was encoded with another one: it is all of a header that is not known before the
 * blocks are made, so no header is encoded twice.
 *
 * @param bytes - of {@link encodeHeader}, for the same `blockChunks`
 * @param digest - 32 bytes
 */
export function setDigestListDigest(bytes: Uint8Array, blockChunks: number, digest: Uint8Array): void {
  // Canonical JSON sorts members, so only that number stands before it.
  const start = `{"blockChunks":${blockChunks},"digestListDigest":"`.length;
  bytes.set(encodeBase64(digest, URL_SAFE), start);
}

/**
 * Verification steps 3 and 4: the header is canonical, complete, and within bounds. Runs on unauthenticated bytes.
 *
 * @throws ObjectError `header-invalid`, `header-invalid`
 */
export function parseHeader(bytes: Uint8Array): Header {
  const value = bytes.length <= LIMITS.headerLength ? parseCanonicalJson(bytes) : undefined;
  if (value === undefined) throw new ObjectError('header-invalid', 'the header is not canonical JSON');
  const problem = findProblem(value);
  if (problem !== undefined) throw new ObjectError('header-invalid', `the header is invalid: ${problem}`);
  return value as unknown as Header;
}

function findProblem(value: Json): string | undefined {
  if (!isJsonObject(value)) return 'not an object';
  const encrypted = hasMembers(value, [...COMMON_MEMBERS, 'set']);
  if (!encrypted && !hasMembers(value, [...COMMON_MEMBERS, 'metadata'])) return 'members missing or unknown';
  if (!isSite(value.site)) return 'site';
  if (!isDocumentPath(value.path)) return 'path';
  if (!isKeyId(value.publisher)) return 'publisher';
  if (fromBase64url(value.digestListDigest, 32) === undefined) return 'digestListDigest';
  const { payloadLength, blockChunks } = value as { payloadLength: number; blockChunks: number };
  if (!isPossibleShape({ encrypted, payloadLength, blockChunks })) return 'payloadLength or blockChunks';
  if (encrypted) return isKeyId(value.set) ? undefined : 'set';
  const { metadata } = value;
  if (!isMetadata(metadata) || metadata.contentCoding !== undefined) return 'metadata';
  return metadata.contentLength === payloadLength ? undefined : 'metadata.contentLength';
}
