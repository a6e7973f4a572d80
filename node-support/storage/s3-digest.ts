/** Digest that a bucket has of a file: the MD5 of its content, or of the MD5s of its parts. */
import { createHash } from 'node:crypto';
import { open, readFile, stat } from 'node:fs/promises';
import type { Source } from './target.ts';

/** Files longer than this are sent in parts. */
export const PART_LENGTH = 8 * 1024 * 1024;
/** The protocol allows 10,000 parts. */
const MAXIMUM_PARTS = 9000;
/** An MD5, and of how many parts. */
const DIGEST = /^[0-9a-f]{32}(?:-\d{1,5})?$/;

/** The digest that an entity tag is; `undefined` where a server keeps its own kind, which is compared with nothing. */
export function digestIn(etag: string): string | undefined {
  const digest = etag.replaceAll('"', '');
  return DIGEST.test(digest) ? digest : undefined;
}

export async function lengthOf(source: Source): Promise<number> {
  return source instanceof Uint8Array ? source.length : (await stat(source.file)).size;
}

export function partLengthFor(length: number): number {
  return Math.max(PART_LENGTH, Math.ceil(length / MAXIMUM_PARTS));
}

/** The entity tag of what a bucket would send. */
export async function expectedTag(source: Source, length: number): Promise<string> {
  if (source instanceof Uint8Array) return md5(source).toString('hex');
  if (length <= PART_LENGTH) return md5(await readFile(source.file)).toString('hex');
  const parts: Buffer[] = [];
  const partLength = partLengthFor(length);
  await using handle = await open(source.file);
  const part = Buffer.alloc(partLength);
  for (let at = 0; at < length; at += partLength) {
    const { bytesRead } = await handle.read(part, 0, Math.min(partLength, length - at), at);
    parts.push(md5(part.subarray(0, bytesRead)));
  }
  return `${md5(Buffer.concat(parts)).toString('hex')}-${parts.length}`;
}

/** The protocol's own checksum; nothing is trusted for it. */
function md5(bytes: Uint8Array): Buffer {
  return createHash('md5').update(bytes).digest();
}
