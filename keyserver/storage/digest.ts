import { createHash } from 'node:crypto';
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { concat, lengthPrefixed, utf8 } from '../../core/encoding/bytes.ts';

/** SHA-256 of `parts`, each behind its length, under a label: what stands in the database for codes, tokens and device keys. */
export function digest(label: string, ...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const bytes = parts.map((part) => (typeof part === 'string' ? utf8(part) : part));
  return createHash('sha256')
    .update(concat(utf8(`wispr/1 ${label}\n`), lengthPrefixed(...bytes)))
    .digest();
}

/** A random token or code as text, of which only the {@link digest} is stored. */
export function newSecret(): string {
  return toBase64url(randomBytes(32));
}
