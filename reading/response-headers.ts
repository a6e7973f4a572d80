import { toBase64url } from '../core/encoding/base64url.ts';
import { type Head, headDigest } from '../core/object/head.ts';
import type { Metadata } from '../core/object/metadata.ts';

/**
 * The response headers of an opened document: the signed ones and no others. The content host's own are never passed on.
 * `Content-Length` is that of the content as carried; a reader that undoes the content coding leaves both out. A lifetime that
 * is signed holds for the reader's own browser: `private`, so that no shared cache keeps what was decrypted.
 */
export async function signedResponseHeaders(head: Head, metadata: Metadata): Promise<Record<string, string>> {
  const { contentCoding, contentLength, headers, lastModified, mediaType } = metadata;
  const lifetime = headers?.['cache-control'];
  return {
    ...headers,
    ...(lifetime !== undefined && { 'cache-control': `private, ${lifetime}` }),
    'content-type': mediaType,
    'content-length': String(contentLength),
    ...(contentCoding && { 'content-encoding': contentCoding, vary: 'accept-encoding' }),
    ...(lastModified !== undefined && { 'last-modified': new Date(lastModified * 1000).toUTCString() }),
    etag: await entityTag(head),
    'x-content-type-options': 'nosniff',
  };
}

/** A strong validator of the plaintext: SHA-256 of the head, which fixes every byte of it. */
async function entityTag(head: Head): Promise<string> {
  return `"${toBase64url(await headDigest(head))}"`;
}
