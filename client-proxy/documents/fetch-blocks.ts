/** Fetches whole blocks out of the middle of a payload. What comes is checked against the digests of a verified head, like all blocks. */
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { DocumentReader } from '../../core/object/document-reader.ts';
import type { ByteRange } from '../../core/object/geometry.ts';
import { isEncrypted } from '../../core/object/header.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { payloadUrl } from '../../core/reading/open-at.ts';
import type { ContentSource } from './content-source.ts';

const SKIPPED_AT_ONCE = 65_536;

/**
 * The payload from the first block that `range` needs; where the content host ignores the range, what is before it is skipped.
 *
 * @returns `undefined` where the host answers neither with a range nor with the whole, or the payload is not a file of bytes
 */
export async function fetchBlocks(
  reader: DocumentReader,
  range: ByteRange,
  source: ContentSource,
  { path, entry }: { readonly path: string; readonly entry: DocumentEntry },
): Promise<ByteReader | undefined> {
  const encrypted = isEncrypted(reader.head.header);
  if (encrypted && entry.inPage) return undefined; // its bytes stand in the page as text
  const offset = encrypted ? reader.head.length : 0; // a signed document's payload is a file of its own
  const blocks = reader.payloadRange(range);
  const bytes = { start: offset + blocks.start, end: offset + blocks.end };
  const { status, body } = await source.fetchRange(payloadUrl(path, entry), bytes);
  if (status !== 200 && status !== 206) {
    await body.return();
    return undefined;
  }
  const payload = new ByteReader(body);
  if (status === 200) await skip(payload, bytes.start);
  return payload;
}

async function skip(payload: ByteReader, length: number): Promise<void> {
  for (let left = length; left > 0; left -= SKIPPED_AT_ONCE) {
    if ((await payload.read(Math.min(left, SKIPPED_AT_ONCE))) === undefined) return; // the blocks' checks say what is missing
  }
}
