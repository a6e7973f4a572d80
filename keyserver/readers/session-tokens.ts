/** Tokens of a browser's session at the reading site. The database has their digests alone. */
import { digest } from '../storage/digest.ts';

/** Seconds for which a session lasts. */
export const SESSION_LIFETIME = 30 * 86_400;

/** Digest of a session's token. */
export function sessionHashOf(token: string): Uint8Array {
  return digest('session token', token);
}
