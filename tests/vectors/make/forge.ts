/** Takes objects apart and puts them together again in ways that the writer never would. */
import { ed25519Sign, sealChunks, sha256 } from '#primitives';
import { beginMessage } from '../../../core/crypto/chunked-encryption.ts';
import { toBase64url } from '../../../core/encoding/base64url.ts';
import { concat, readU32, u32, utf8 } from '../../../core/encoding/bytes.ts';
import { canonicalJson, type Json, type JsonObject } from '../../../core/encoding/canonical-json.ts';
import { blockCount, blockRange } from '../../../core/object/geometry.ts';
import { payloadContext } from '../../../core/object/message.ts';
import { publisher, SITE, saltOf, setKey } from './fixed.ts';

const MAGIC_LENGTH = 8;
const SIGNATURE_LENGTH = 64;
const SIGNATURE_LABEL = utf8('wispr/1 protected object\n');

/** An object by its parts. */
export interface Parts {
  readonly magic: Uint8Array;
  readonly headerLength: Uint8Array;
  readonly header: Uint8Array;
  readonly signature: Uint8Array;
  readonly digests: Uint8Array;
  readonly payload: Uint8Array;
}

export function splitObject(object: Uint8Array): Parts {
  const headerStart = MAGIC_LENGTH + 4;
  const headerEnd = headerStart + readU32(object, MAGIC_LENGTH);
  const signatureEnd = headerEnd + SIGNATURE_LENGTH;
  const header = object.subarray(headerStart, headerEnd);
  const digestsEnd = signatureEnd + 32 * blockCount(shapeOf(headerValue(header)));
  return {
    magic: object.subarray(0, MAGIC_LENGTH),
    headerLength: object.subarray(MAGIC_LENGTH, headerStart),
    header,
    signature: object.subarray(headerEnd, signatureEnd),
    digests: object.subarray(signatureEnd, digestsEnd),
    payload: object.subarray(digestsEnd),
  };
}

export function joinObject(parts: Parts): Uint8Array {
  return concat(parts.magic, parts.headerLength, parts.header, parts.signature, parts.digests, parts.payload);
}

/** The same parts under other header bytes, signed anew by the publisher, or with `secretKey`. */
export function withHeaderBytes(parts: Parts, header: Uint8Array, secretKey = publisher.secretKey): Parts {
  const signature = ed25519Sign(concat(SIGNATURE_LABEL, header), secretKey);
  return { ...parts, headerLength: u32(header.length), header, signature };
}

/** The same parts with changed members in the header, signed anew. `undefined` removes a member. */
export function withHeader(
  parts: Parts,
  changes: Record<string, Json | undefined>,
  secretKey = publisher.secretKey,
): Parts {
  const changed: Record<string, Json | undefined> = { ...headerValue(parts.header), ...changes };
  const members = Object.entries(changed).filter(([, value]) => value !== undefined);
  return withHeaderBytes(parts, canonicalJson(Object.fromEntries(members) as JsonObject), secretKey);
}

/** Another payload, with the digests, length and signature that make it the publisher's own. */
export async function withPayload(parts: Parts, payload: Uint8Array): Promise<Parts> {
  const shape = { ...shapeOf(headerValue(parts.header)), payloadLength: payload.length };
  const digests: Uint8Array[] = [];
  for (let index = 0; index < blockCount(shape); index++) {
    const { start, end } = blockRange(shape, index);
    digests.push(await sha256(payload.subarray(start, end)));
  }
  return withDigests({ ...parts, payload }, concat(...digests), payload.length);
}

/** Other digests, under the publisher's signature. */
export async function withDigests(parts: Parts, digests: Uint8Array, payloadLength?: number): Promise<Parts> {
  const digestListDigest = toBase64url(await sha256(digests));
  return withHeader({ ...parts, digests }, { digestListDigest, ...(payloadLength !== undefined && { payloadLength }) });
}

/** A payload that encrypts any message at all. */
export async function encryptMessage(name: string, path: string, message: Uint8Array): Promise<Uint8Array> {
  const context = payloadContext({ site: SITE, path, set: setKey.id });
  const { keys, prefix } = await beginMessage(setKey.key, context, await saltOf(name));
  return concat(prefix, await sealChunks(keys, 0, message, true));
}

export function headerValue(header: Uint8Array): JsonObject {
  return JSON.parse(new TextDecoder().decode(header)) as JsonObject;
}

/** A copy with one bit flipped. */
export function flipBit(bytes: Uint8Array, offset: number, bit = 0): Uint8Array {
  const copy = new Uint8Array(bytes);
  copy[offset] = (copy[offset] ?? 0) ^ (1 << bit);
  return copy;
}

function shapeOf(header: JsonObject) {
  const { payloadLength, blockChunks } = header as { payloadLength: number; blockChunks: number };
  return { encrypted: 'set' in header, payloadLength, blockChunks };
}
