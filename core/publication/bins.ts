/** Hash bins: TAP 15, and docs/spec/publication.md, "Bins and sections". */
import { sha256 } from '#primitives';
import { readU32, utf8 } from '../encoding/bytes.ts';
import { toHex } from '../encoding/hex.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import type { Delegation, SuccinctDelegation } from './metadata.ts';

/** The role that delegates to the bins, and what their names begin with. */
export const DOCUMENTS_ROLE = 'documents';

/**
 * The bits for a number of targets: bins and snapshot grow alike.
 *
 * @param atLeast - the bits of the publication before: they never shrink
 */
export function binBitsFor(targets: number, atLeast = 1): number {
  const bits = Math.ceil((1 + Math.log2(Math.max(1, targets))) / 2);
  return Math.min(PUBLICATION_LIMITS.binBits, Math.max(1, bits, atLeast));
}

export function binNames(bits: number, namePrefix = DOCUMENTS_ROLE): string[] {
  return Array.from({ length: 2 ** bits }, (_, index) => binName(index, bits, namePrefix));
}

export function binName(index: number, bits: number, namePrefix = DOCUMENTS_ROLE): string {
  const digits = (2 ** bits - 1).toString(16).length;
  return `${namePrefix}-${index.toString(16).padStart(digits, '0')}`;
}

/** Tells whether a role can be a bin of documents: its number has at most 16 bits (P11). */
export function isBinName(name: string): boolean {
  return name.startsWith(`${DOCUMENTS_ROLE}-`) && /^[0-9a-f]{1,4}$/.test(name.slice(DOCUMENTS_ROLE.length + 1));
}

/** The bin of a target. @param pathHash - SHA-256 of the target path */
function binIndex(pathHash: Uint8Array, bits: number): number {
  return Math.floor(readU32(pathHash) / 2 ** (32 - bits));
}

export async function pathHashOf(targetPath: string): Promise<Uint8Array> {
  return sha256(utf8(targetPath));
}

export function binFor(pathHash: Uint8Array, { bits, namePrefix }: SuccinctDelegation): string {
  return binName(binIndex(pathHash, bits), bits, namePrefix);
}

/** Tells whether a delegation is for this target path (4.5): by patterns, or by the beginning of its hash. */
export function delegates({ paths, pathHashPrefixes }: Delegation, targetPath: string, pathHash: Uint8Array): boolean {
  if (paths) return paths.some((pattern) => matchesPattern(pattern, targetPath));
  const hash = toHex(pathHash);
  return pathHashPrefixes?.some((prefix) => hash.startsWith(prefix)) ?? false;
}

/** TUF's PATHPATTERN: `*` and `?` within one segment, and as many segments as the path has. */
export function matchesPattern(pattern: string, path: string): boolean {
  const [patterns, segments] = [pattern.split('/'), path.split('/')];
  return (
    patterns.length === segments.length && patterns.every((part, index) => matchesSegment(part, segments[index] ?? ''))
  );
}

/** Matches without a regular expression, so that no pattern can take long: the last `*` is the only place to go back to. */
function matchesSegment(pattern: string, text: string): boolean {
  let [at, position, star, mark] = [0, 0, -1, 0];
  while (position < text.length) {
    if (at < pattern.length && pattern[at] === '*') [star, mark, at] = [at, position, at + 1];
    else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === text[position]))
      [at, position] = [at + 1, position + 1];
    else if (star >= 0) [at, position, mark] = [star + 1, mark + 1, mark + 1];
    else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}
