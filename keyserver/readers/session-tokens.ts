/** Tokens of a browser's session at the reading site. The database has their digests alone. */
import { randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { digest } from '../storage/digest.ts';

/** Seconds for which a session lasts. */
export const SESSION_LIFETIME = 30 * 86_400;
const TOKEN_LENGTH = 32;

/** A random token, and the digest to store. */
export function newSessionToken(): { readonly token: string; readonly hash: Uint8Array } {
  const secret = randomBytes(TOKEN_LENGTH);
  return { token: toBase64url(secret), hash: digest('session token', secret) };
}

/** Digest of a session's token; `undefined` if it cannot be one. */
export function sessionHashOf(token: string): Uint8Array | undefined {
  const bytes = fromBase64url(token, TOKEN_LENGTH);
  return bytes && digest('session token', bytes);
}
