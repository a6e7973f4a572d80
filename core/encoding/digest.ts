import { sha256 } from '#symmetric';
import { toHex } from './hex.ts';

/** SHA-256 as TUF writes it: hexadecimal, lower case. */
export async function hexDigest(bytes: Uint8Array): Promise<string> {
  return toHex(await sha256(bytes));
}

const HEX_DIGEST = /^[0-9a-f]{64}$/;

/** Tells whether a text has the form of {@link hexDigest}. Does not decode it: a snapshot has thousands. */
export function isHexDigest(text: string): boolean {
  return HEX_DIGEST.test(text);
}
