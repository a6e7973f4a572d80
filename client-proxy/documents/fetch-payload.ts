/** Fetches bytes out of the middle of a payload. What comes is checked against the digests of a verified head, like all blocks. */
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { DocumentReader } from '../../core/object/document-reader.ts';
import type { ByteRange } from '../../core/object/geometry.ts';
import { isEncrypted } from '../../core/object/header.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { ReadingError } from '../../core/reading/errors.ts';
import { payloadUrl } from '../../core/reading/open-at.ts';
import type { HostAttempt } from './content-source.ts';

const SKIPPED_AT_ONCE = 65_536;

/** Bytes of a payload, and whom they come from. */
export interface FetchedPayload {
  readonly bytes: ByteReader;
  readonly attempt: HostAttempt;
}

/**
 * The payload from the beginning of `range`, once something of it is there; where the content host ignores the range, what is before it is
 * skipped.
 *
 * @throws ReadingError `content-host-answer` where the host answers neither with a range nor with the whole, or the payload is not a file of
 * bytes; those of `fetchRange`
 */
export async function fetchPayload(
  { head }: DocumentReader,
  range: ByteRange,
  attempt: HostAttempt,
  { path, entry }: { readonly path: string; readonly entry: DocumentEntry },
): Promise<FetchedPayload> {
  const encrypted = isEncrypted(head.header);
  if (encrypted && entry.inPage) throw unusable('the object stands in a page as text');
  const offset = encrypted ? head.length : 0; // a signed document's payload is a file of its own
  const wanted = { start: offset + range.start, end: offset + range.end };
  const { status, body } = await attempt.fetchRange(payloadUrl(path, entry), wanted);
  if (status !== 200 && status !== 206) {
    await body.return();
    throw unusable(`the content host answered ${status} when asked for a part of ${path}`);
  }
  const bytes = new ByteReader(body);
  if (status === 200) await skip(bytes, wanted.start);
  await bytes.atEnd();
  return { bytes, attempt };
}

async function skip(bytes: ByteReader, length: number): Promise<void> {
  for (let left = length; left > 0; left -= SKIPPED_AT_ONCE) {
    if ((await bytes.read(Math.min(left, SKIPPED_AT_ONCE))) === undefined) return; // the blocks' checks say what is missing
  }
}

function unusable(message: string): ReadingError {
  return new ReadingError('content-host-answer', message);
}
