import { keyIdBytes } from '../crypto/key-id.ts';
import { concat, lengthPrefixed, readU32, u32, utf8 } from '../encoding/bytes.ts';
import { canonicalJson, type JsonObject, parseCanonicalJson } from '../encoding/canonical-json.ts';
import { ObjectError } from './errors.ts';
import type { EncryptedHeader } from './header.ts';
import { LIMITS } from './limits.ts';
import { isMetadata, type Metadata } from './metadata.ts';

/** The derivation context of an encrypted payload: site, path and set key id, length-prefixed (the spec, "Encrypted documents"). */
export function payloadContext(header: Pick<EncryptedHeader, 'site' | 'path' | 'set'>): Uint8Array {
  return lengthPrefixed(utf8('wispr/1 payload'), utf8(header.site), utf8(header.path), keyIdBytes(header.set));
}

/**
 * Encodes what stands in front of the content in an encrypted message: `u32(M) || metadata`.
 *
 * @throws RangeError if the metadata is not of the form that the format allows
 */
export function encodeMessageFront(metadata: Metadata): Uint8Array {
  const value = { ...metadata } as unknown as JsonObject;
  const bytes = canonicalJson(value); // comes first: it refuses what JSON would drop without a word
  if (!isMetadata(value) || bytes.length > LIMITS.metadataLength) {
    throw new RangeError('the metadata is not of the form that the format allows');
  }
  return concat(u32(bytes.length), bytes);
}

/**
 * Verification step 15.
 *
 * @param message - at least the first chunk of the message
 * @param messageLength - bytes of the whole message
 * @returns the metadata, and where the content begins in the message
 * @throws ObjectError `payload-invalid`
 */
export function parseMessageFront(
  message: Uint8Array,
  messageLength: number,
): { metadata: Metadata; contentOffset: number } {
  const length = message.length < 4 ? LIMITS.metadataLength + 1 : readU32(message);
  const contentOffset = 4 + length;
  const metadata =
    length <= LIMITS.metadataLength && contentOffset <= message.length
      ? parseCanonicalJson(message.subarray(4, contentOffset))
      : undefined;
  if (!isMetadata(metadata) || metadata.contentLength > messageLength - contentOffset) {
    throw new ObjectError('payload-invalid', 'the encrypted metadata is not of the form that the format allows');
  }
  return { metadata, contentOffset };
}
