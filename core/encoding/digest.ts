import { sha256 } from '#primitives';
import { toHex } from './hex.ts';

/** SHA-256 as TUF writes it: hexadecimal, lower case. */
export async function hexDigest(bytes: Uint8Array): Promise<string> {
  return toHex(await sha256(bytes));
}
